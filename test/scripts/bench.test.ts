import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, inject, it } from 'vitest';
import { linesOf } from '../support/doc-blocks.ts';
import { quietNpm } from '../support/doc-shell.ts';
import { root } from '../support/sources.ts';

const run = promisify(execFile);
/** The line of the page with the most options. The others take minutes; test/docs-blocks.test.ts reads their options. */
const [line] = linesOf('npm run bench').filter(({ text }) => / --only \S+ --profile \S+$/.test(text));
const profileFolder = / --profile (\S+)/.exec(line?.text ?? '')?.[1] ?? '';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(inject('runDir'), 'bench-'));
  await chmod(folder, 0o711);
  for (const name of ['tmp', 'home', 'profiles']) await mkdir(join(folder, name), { mode: 0o711 });
});

afterEach(() => rm(folder, { recursive: true, force: true }));

it('npm run bench does what the page says, with the shortest rounds, and leaves nothing behind', {
  // Twenty seconds when the machine is free; beside other tests it may take several times that.
  timeout: 300_000,
}, async () => {
  if (line === undefined) throw new Error('no page shows a line with --only and --profile any more');
  const command = line.text.replace(profileFolder, join(folder, 'profiles'));
  const { stdout, stderr } = await run('bash', ['-c', `${command} --seconds 1 --rounds 1`], {
    cwd: root,
    env: { PATH: process.env.PATH, TMPDIR: join(folder, 'tmp'), HOME: join(folder, 'home'), ...quietNpm },
  });
  expect(stderr).toBe('');
  expect(stdout).toContain('1 rounds of 1 s each');
  expect(stdout).toMatch(/^new transfers, 64 connections$/m);
  // Whether the target is reached says nothing here, where other tests use the same cores.
  expect(stdout).toMatch(/^ {2}target: at least 1\.0 x naive; reached \d+\.\d+ x: (PASS|below)$/m);
  expect(stdout).toContain('Every answer of Semel was checked against its ledger');
  expect(await readdir(join(folder, 'profiles'))).toEqual(['semel-api.cpuprofile', 'semel-worker.cpuprofile']);
  // Without the cache of tsx, which stays on purpose.
  expect((await readdir(join(folder, 'tmp'))).filter((name) => !name.startsWith('tsx-'))).toEqual([]);
});
