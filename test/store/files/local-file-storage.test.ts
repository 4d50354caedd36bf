import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { beforeEach, describe, expect, it } from 'vitest';
import { openFileStorage } from '../../../src/store/files/file-storage.ts';
import { testDataDir } from '../../support/service.ts';
import { root } from '../../support/sources.ts';
import { itKeepsFiles } from './conformance.ts';
import { chunksOf, mebibyte, pauseAfter } from './sources.ts';

let dataDir: string;

beforeEach(() => {
  dataDir = testDataDir();
});

const open = () => openFileStorage({ STORAGE_URL: undefined, SEMEL_DATA_DIR: dataDir, S3_ENDPOINT: undefined });
const pathOf = (...names: string[]) => join(dataDir, 'files', ...names);
const modeOf = async (path: string) => (await stat(path)).mode & 0o777;

describe('files in a local folder', () => {
  itKeepsFiles(async () => ({
    storage: await open(),
    measureUnfinished: async () => {
      await mkdir(pathOf('.drafts'), { recursive: true });
      const drafts = await readdir(pathOf('.drafts'));
      return await Promise.all(drafts.map(async (name) => (await stat(pathOf('.drafts', name))).size));
    },
    maxBytesInMemory: mebibyte,
  }));
});

it('files, drafts and folders are their owner’s alone', async () => {
  const storage = await open();
  const source = pauseAfter(1, Buffer.from('ab'));
  const written = storage.write('mailings/a.csv', source.chunks);
  await source.paused;
  const [draft = ''] = await readdir(pathOf('.drafts'));
  expect(await modeOf(pathOf('.drafts', draft))).toBe(0o600);
  source.goOn();
  await written;
  expect(await modeOf(pathOf('mailings/a.csv'))).toBe(0o600);
  for (const folder of ['.', '.drafts', 'mailings']) expect(await modeOf(pathOf(folder))).toBe(0o700);
});

it('a disk that takes no more fails the write with its own error, and nothing is left', async () => {
  const script = join(root, 'test/store/files/write-process.ts');
  // A limit on the size of files stands in for a full disk: the write fails midway, at 1 or 2 MiB by the shell's units.
  const limited = `ulimit -f 2048 && exec "$0" --import tsx "$@"`;
  const args = ['-c', limited, process.execPath, script, dataDir, String(4 * mebibyte)];
  const child = spawn('sh', args, { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  expect(await text(child.stdout)).toBe('EFBIG, source closed');
  await exited;
  expect(await readdir(pathOf('.drafts'))).toEqual([]);
  expect(await readdir(pathOf())).toEqual(['.drafts']);
});

it('a file that cannot take its place fails the write, and no draft is left', async () => {
  const storage = await open();
  await storage.write('a', chunksOf(Buffer.from('a')));
  await expect(storage.write('a/b', chunksOf(Buffer.from('b')))).rejects.toMatchObject({ code: 'EEXIST' });
  await mkdir(pathOf('folder'));
  await expect(storage.write('folder', chunksOf(Buffer.from('b')))).rejects.toMatchObject({ code: 'EISDIR' });
  expect(await readdir(pathOf('.drafts'))).toEqual([]);
});

it('a check fails where nothing can be written', async () => {
  await mkdir(dataDir);
  await symlink('/dev/null', pathOf());
  await expect((await open()).check()).rejects.toMatchObject({ code: expect.stringMatching(/ENOTDIR|EEXIST/) });
});

it('what is in the folder but is no file of ours is not listed', async () => {
  const storage = await open();
  await storage.write('a', chunksOf(Buffer.from('a')));
  await symlink('/dev/null', pathOf('link'));
  await mkdir(pathOf('.hidden', 'folder'), { recursive: true });
  const names: string[] = [];
  for await (const { name } of storage.list()) names.push(name);
  expect(names).toEqual(['a']);
});
