import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { parse as parseCsv } from 'csv-parse/sync';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { z } from 'zod';
import { defineOperation, printableKey } from '../src/processors/define-operation.ts';
import { operations } from '../src/processors/registry.ts';
import { ensureApiKey } from '../src/store/api-keys.ts';
import { compareOutput, pages, parseJson, placeOf, readBlocks } from './support/doc-blocks.ts';
import { DocShell, notRun, type Placeholders } from './support/doc-shell.ts';
import { eventually } from './support/eventually.ts';
import { writeReadmeExample } from './support/readme-example.ts';
import { startTestService, type TestService } from './support/service.ts';
import { readText, root } from './support/sources.ts';

/*
 * Every block of every page is checked, in the order of its page. Whoever writes one:
 *   sh     is run by bash against a service of this test. Exports hold for the later blocks of the page. Each curl has to be
 *          answered with 2xx, or with 409 where only the state of things is in the way.
 *   (none) right after sh is what a reader should see: status line, headers and the form of JSON are compared. An id in it
 *          stands, in later blocks, for the one that came.
 *   json   likewise after sh; elsewhere it has to parse.
 *   ts     is compiled and run. It imports from 'semel' or 'semel/client'.
 *   yaml, csv   have to parse; csv with as many cells in each row as in the header.
 * What only a reader has goes to `placeholders` below; a command that cannot be run goes to `notRun` in support/doc-shell.ts.
 */

const blocks = pages.flatMap(readBlocks);
const ofLanguage = (language: string) => blocks.filter((block) => block.language === language);
const pagesWithCommands = [...new Set(ofLanguage('sh').map(({ page }) => page))];

/** Blocks of TypeScript that another test compiles and runs, because they need something around them. */
const runElsewhere = [
  { page: 'README.md', block: /^\/\/ src\//, by: 'test/docs.test.ts' },
  { page: 'docs/receiver.md', block: /^\/\/ \S+\.ts\n/, by: 'test/receiver/docs-examples.test.ts' },
];

let service: TestService;
let folder: string;

const failing = defineOperation({
  name: 'docs.failing',
  request: z.strictObject({}),
  key: { required: true, pattern: printableKey },
  onMismatch: 'reject',
  replay: 'stored',
  process: () => Promise.reject(new Error('as always')),
});

beforeAll(async () => {
  // Below node_modules, so that packages are found from there, and nobody else finds it.
  await mkdir(join(root, 'node_modules', '.cache'), { recursive: true });
  folder = await mkdtemp(join(root, 'node_modules', '.cache', 'docs-'));
  await mkdir(join(folder, 'readme'));
  const renaming = await writeReadmeExample(join(folder, 'readme'));
  service = await startTestService({
    operations: [...operations, failing, renaming],
    environment: { RETRY_DELAYS_MS: '1', WAIT_SECONDS: '30', WEBHOOK_ALLOW_PRIVATE: 'true' },
  });
});

afterAll(async () => {
  await service.close();
  await rm(folder, { recursive: true, force: true });
});

/** Each page has a reader of its own, so that no page disturbs another. */
async function keyOfReader(page: string): Promise<string> {
  const key = `key-of-the-reader-of-${page}`;
  await ensureApiKey(service.db, key, { client: page.replaceAll('/', '.'), scopes: ['operate', 'admin'] });
  return key;
}

async function settle(): Promise<void> {
  await eventually(async () => {
    const { rows } = await sql<{ busy: boolean }>`
      select exists (select from records where settled_at is null)
        or exists (select from mailings where status in ('QUEUED', 'INGESTING', 'SENDING')) as busy`.execute(
      service.db,
    );
    expect(rows).toEqual([{ busy: false }]);
  });
}

/** Of somebody else, so that it is still there when a page has retried everything of client default. */
async function failOnce(): Promise<string> {
  const options = { key: randomUUID(), apiKey: await keyOfReader('nobody') };
  const answer = await service.api.post('/v1/operations/docs.failing', {}, options);
  return String(answer.headers['operation-id']);
}

async function findDeadLetter(): Promise<string> {
  await failOnce();
  return (await service.api.get('/v1/admin/dead-letters?client=nobody&limit=1')).body.items[0].id;
}

async function makeApiKey(): Promise<string> {
  return (await service.api.post('/v1/admin/api-keys', { client: 'docs', scopes: ['operate'] })).body.id;
}

async function makeFault(): Promise<string> {
  const { rows } = await sql<{ id: string }>`
    insert into invariant_faults (invariant, subject, detail) values ('entries_sent_twice', ${randomUUID()}, '{}')
    returning id`.execute(service.db);
  return String(rows[0]?.id);
}

async function uploadList(apiKey: string): Promise<string> {
  const options = { apiKey, headers: { 'content-type': 'text/csv' } };
  const path = `/v1/mailings?filename=${randomUUID()}.csv`;
  return (await service.api.send('POST', path, 'email\nada@example.com\n', options)).body.mailingId;
}

const placeholders = (apiKey: string): Placeholders => [
  [/(http:\/\/)?(127\.0\.0\.1|localhost):3000/g, service.api.url],
  // A name of the reader's own network; here it must resolve without one.
  ['https://hooks.example/', 'http://127.0.0.1:9/'],
  ['/records/$ID', async () => `/records/${await failOnce()}`],
  ['/dead-letters/$ID', async () => `/dead-letters/${await findDeadLetter()}`],
  ['/api-keys/$ID', async () => `/api-keys/${await makeApiKey()}`],
  ['/faults/$ID', async () => `/faults/${await makeFault()}`],
  ['/mailings/$ID', async () => `/mailings/${await uploadList(apiKey)}`],
];

async function openShell(page: string): Promise<DocShell> {
  const apiKey = await keyOfReader(page);
  return await DocShell.open({
    folder: join(folder, randomUUID()),
    dataDir: service.environment.SEMEL_DATA_DIR ?? '',
    environment: { SEMEL_API_KEY: apiKey },
    placeholders: placeholders(apiKey),
    settle,
  });
}

it('every block says what it is', () => {
  const known = ['', 'sh', 'ts', 'json', 'yaml', 'csv'];
  expect(blocks.filter(({ language }) => !known.includes(language)).map(placeOf)).toEqual([]);
  expect(ofLanguage('sh').length).toBeGreaterThan(20);
});

describe.each(pagesWithCommands)('the commands of %s', (page) => {
  it('do what the page says, in order', async () => {
    const shell = await openShell(page);
    const faults: string[] = [];
    for (const block of ofLanguage('sh').filter((each) => each.page === page)) {
      faults.push(...(await shell.run(block)).faults);
    }
    expect(faults.join('\n\n')).toBe('');
  });
});

it.each([
  ['exit code 1', 'false'],
  ['exit code 127', 'some-program-that-is-not-there'],
  ['a curl was answered with 404', 'curl -s localhost:3000/nowhere'],
  ['a curl was answered with 401', 'curl -s localhost:3000/v1/accounts'],
  ['nothing checks "docker run semel"', 'docker run semel'],
  ['nothing like {"id":1} came', 'echo nothing', '{"id":1}'],
])('a page would fail with: %s', async (fault, source, shown?: string) => {
  const shell = await openShell('nobody');
  const block = { page: 'page.md', line: 1, language: 'sh', text: `${source}\n`, ...(shown && { shown }) };
  const { faults } = await shell.run(block);
  expect(faults).toHaveLength(1);
  expect(faults[0]).toContain(fault);
  expect(faults[0]).toMatch(/^page\.md:1: /);
});

describe('TypeScript', () => {
  const programs = ofLanguage('ts').filter(
    ({ page, text: source }) => !runElsewhere.some((other) => other.page === page && other.block.test(source)),
  );
  const nameOf = (block: (typeof programs)[number]) => placeOf(block).replaceAll(/[^\w]+/g, '-');

  beforeAll(async () => {
    await mkdir(join(folder, 'programs'));
    await writeFile(join(folder, 'programs', 'package.json'), JSON.stringify({ type: 'module' }));
    for (const block of programs) {
      const source = block.text
        .replaceAll(/from 'semel(\/client)?'/g, (_, part) => `from '../../../../src/${part ? 'client/' : ''}index.ts'`)
        .replaceAll('http://127.0.0.1:3000', service.api.url);
      // Without it a block that imports nothing would be a script and share its names with the others.
      await writeFile(join(folder, 'programs', `${nameOf(block)}.ts`), `${source}\nexport {};\n`);
    }
  });

  it('compiles', async () => {
    const config = { extends: '../../../../tsconfig.json', include: ['*.ts'] };
    await writeFile(join(folder, 'programs', 'tsconfig.json'), JSON.stringify(config));
    const compiled = await run(join(root, 'node_modules', '.bin', 'tsc'), ['-p', join(folder, 'programs')]);
    expect(compiled).toEqual({ code: 0, output: '', errors: '' });
  });

  // A server that listens never ends; the compiler has seen it.
  const ending = programs.filter(({ text: source }) => !/\.listen\(/.test(source));
  it.each(ending.map((block) => [placeOf(block), block] as const))('%s runs', async (_place, block) => {
    const file = join(folder, 'programs', `${nameOf(block)}.ts`);
    const { code, errors } = await run(process.execPath, ['--import', 'tsx', file], {
      SEMEL_API_KEY: await keyOfReader(block.page),
    });
    // What a program catches and reports is a failure of the page, too.
    expect({ code, errors }).toEqual({ code: 0, errors: '' });
  });
});

async function run(file: string, args: string[], more: Record<string, string> = {}) {
  const child = spawn(file, args, { cwd: root, env: { ...process.env, ...more }, stdio: ['ignore', 'pipe', 'pipe'] });
  const [output, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { code, output, errors };
}

it('JSON, YAML and CSV can be read', () => {
  expect(
    ofLanguage('json')
      .filter((block) => parseJson(block.text) === undefined)
      .map(placeOf),
  ).toEqual([]);
  for (const block of ofLanguage('yaml')) expect(() => parseYaml(block.text), placeOf(block)).not.toThrow();
  for (const block of ofLanguage('csv')) expect(() => parseCsv(block.text), placeOf(block)).not.toThrow();
});

describe('what is not run here', () => {
  it('is checked by something that exists', () => {
    const named = [...notRun.map(({ because }) => because), ...runElsewhere.map(({ by }) => by)];
    const files = named.flatMap((reason) => [...reason.matchAll(/test\/[\w./-]+\.ts/g)].map(([file]) => file));
    expect(files.length).toBeGreaterThan(3);
    for (const file of files) expect(() => readText(file), file).not.toThrow();
  });
});

describe('the comparison with what a page shows', () => {
  const shown = 'HTTP/1.1 201 Created\noperation-id: 1\n\n{"id":"01a1edc8-25e9-7125-a009-727aa785e463","version":1}\n';
  const came =
    'HTTP/1.1 201 Created\r\nOperation-Id: 2\r\n\r\n{"id":"01a1edc8-25e9-7125-a009-000000000000","version":7}';

  it('takes other ids and numbers, and remembers the ids', () => {
    const { faults, ids } = compareOutput(shown, came);
    expect(faults).toEqual([]);
    expect([...ids]).toEqual([['01a1edc8-25e9-7125-a009-727aa785e463', '01a1edc8-25e9-7125-a009-000000000000']]);
  });

  it.each([
    ['another status', came.replace('201 Created', '200 OK')],
    ['a missing header', came.replace('Operation-Id', 'X')],
    ['a missing field', came.replace(',"version":7', '')],
    ['a field that is not shown', came.replace('}', ',"more":1}')],
    ['a value of another type', came.replace('7}', '"7"}')],
    ['no JSON at all', came.replace('{', '')],
  ])('finds %s', (_what, output) => {
    expect(compareOutput(shown, output).faults).toHaveLength(1);
  });
});
