import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { operations } from '../src/processors/registry.ts';
import { writeReadmeExample } from './support/readme-example.ts';
import { startTestService, type TestService } from './support/service.ts';
import { listProject, readText, root } from './support/sources.ts';

const pages = listProject().filter((path) => path.endsWith('.md'));

/** As GitHub makes the anchor of a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .replaceAll(' ', '-');

const anchorsOf = (path: string): string[] =>
  [...readText(path).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => anchorOf(heading));

describe.each(pages)('%s', (page) => {
  const source = readText(page);

  it('has links that lead somewhere', () => {
    const targets = [...source.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);
    const broken = targets.filter((target) => {
      if (/^https?:/.test(target)) return false;
      const [path = '', anchor] = target.split('#');
      const file = path === '' ? page : relative(root, join(root, dirname(page), path));
      return !existsSync(join(root, file)) || (anchor !== undefined && !anchorsOf(file).includes(anchor));
    });
    expect(broken).toEqual([]);
  });

  it('names files and commands that exist', () => {
    // The example speaks of files that a reader would write.
    const prose = source.replace(/```ts\n.*?```/gs, '');
    const named = [...prose.matchAll(/(?<![\w/.-])(?:src|test|scripts|docs)\/[\w./<>-]*/g)]
      .map(([path]) => path.replace(/[./]+$/, ''))
      .filter((path) => !/[<>]|NNNN/.test(path));
    expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([]);
    const scripts = Object.keys(JSON.parse(readText('package.json')).scripts);
    const commands = [...prose.matchAll(/npm run ([\w-]+(?::[\w-]+)*)/g)].map(([, name = '']) => name);
    expect(commands.filter((name) => !scripts.includes(name))).toEqual([]);
  });
});

describe('the operation that the README adds', () => {
  let service: TestService;
  let folder: string;

  beforeAll(async () => {
    // Below node_modules, so that packages are found from there, and nobody else finds it.
    await mkdir(join(root, 'node_modules', '.cache'), { recursive: true });
    folder = await mkdtemp(join(root, 'node_modules', '.cache', 'readme-'));
    const example = await writeReadmeExample(folder);
    service = await startTestService({ operations: [...operations, example], environment: { WAIT_SECONDS: '30' } });
  });

  afterAll(async () => {
    await service.close();
    await rm(folder, { recursive: true, force: true });
  });

  it('compiles', async () => {
    const config = { extends: '../../../tsconfig.json', include: ['src'] };
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(config));
    const tsc = spawn(join(root, 'node_modules', '.bin', 'tsc'), ['-p', folder], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [output, [code]] = await Promise.all([text(tsc.stdout), once(tsc, 'close')]);
    expect({ code, output }).toEqual({ code: 0, output: '' });
  });

  it('runs once for its key and replays its answer', async () => {
    const accountId = await service.api.openAccount(10);
    const key = randomUUID();
    const send = () => service.api.post('/v1/operations/account.rename', { accountId, owner: 'Grace' }, { key });
    const [first, second] = [await send(), await send()];
    expect(first).toMatchObject({ status: 200, body: { id: accountId, owner: 'Grace', version: 2 } });
    expect(second.text).toBe(first.text);
    expect(second.headers['idempotent-replayed']).toBe('true');
    expect((await service.api.get(`/v1/accounts/${accountId}`)).body).toMatchObject({ owner: 'Grace', version: 2 });
    const events = await service.db.selectFrom('events').select('type').where('type', '=', 'account.renamed').execute();
    expect(events).toHaveLength(1);
  });

  it('refuses what its rules refuse', async () => {
    const unknown = { accountId: randomUUID(), owner: 'Grace' };
    const answer = await service.api.post('/v1/operations/account.rename', unknown, { key: randomUUID() });
    expect(answer).toMatchObject({ status: 422, body: { code: 'ACCOUNT_NOT_FOUND', effect: 'not_applied' } });
  });
});
