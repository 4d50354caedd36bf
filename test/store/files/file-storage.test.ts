import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { ConfigError } from '../../../src/config.ts';
import { openFileStorage } from '../../../src/store/files/file-storage.ts';
import { testDataDir } from '../../support/service.ts';
import { importsOf, listProject, readText } from '../../support/sources.ts';
import { chunksOf } from './sources.ts';

let dataDir: string;

beforeEach(() => {
  dataDir = testDataDir();
});

const open = (url: string | undefined) =>
  openFileStorage({ STORAGE_URL: url, SEMEL_DATA_DIR: dataDir, S3_ENDPOINT: undefined });

it.each([
  ['no URL', () => undefined, 'files'],
  ['file: alone', () => 'file:', 'files'],
  ['file: and a path', () => `file:${dataDir}/lists`, 'lists'],
  ['file:// and a path', () => `file://${dataDir}/lists/of/people/`, 'lists/of/people'],
  ['a path with what a URL must escape', () => `file://${dataDir}/my%20lists`, 'my lists'],
])('%s says in which folder the files are', async (_, url, folder) => {
  const storage = await open(url());
  await storage.write('mailings/a.csv', chunksOf(Buffer.from('a')));
  expect(await readFile(join(dataDir, folder, 'mailings/a.csv'), 'utf8')).toBe('a');
});

it.each([
  'file://',
  'file:///',
  'file:folder',
  'file://host/folder',
  's3:',
  's3://',
  's3:///folder',
  's3://bucket?region=x',
  's3://key:secret@bucket',
  'http://localhost/folder',
  'folder',
])('%s is refused', async (url) => {
  await expect(open(url)).rejects.toThrow(ConfigError);
});

it('the SDK for S3 is loaded by one file, and that only when S3 is used', () => {
  const src = listProject('src').filter((path) => path.endsWith('.ts'));
  const users = src.filter((path) => importsOf(path).some((name) => name.startsWith('@aws-sdk/')));
  expect(users).toEqual(['src/store/files/s3-file-storage.ts']);
  expect(src.filter((path) => /from '.*\/s3-file-storage\.ts'/.test(readText(path)))).toEqual([]);
});
