import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { parse as parseCsv } from 'csv-parse/sync';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { findFreePort } from '../scripts/embedded/free-port.ts';
import { operations } from '../src/processors/registry.ts';
import { compareOutput, namedCommands, pages, parseJson, placeOf, readBlocks } from './support/doc-blocks.ts';
import { checkCommand, knownCommands, unknownVariables } from './support/doc-commands.ts';
import { checkServices } from './support/doc-compose.ts';
import { DocReaders, failing } from './support/doc-readers.ts';
import { startDocServer } from './support/doc-server.ts';
import { eventually } from './support/eventually.ts';
import { writeReadmeExample } from './support/readme-example.ts';
import { startTestService, type TestService } from './support/service.ts';
import { readText, root } from './support/sources.ts';

/*
 * Every block of every page is checked, in the order of its page. Whoever writes one:
 *   sh     is run by bash against a service of this test. Exports hold for the later blocks of the page. Each curl has to be
 *          answered with 2xx, or with 409 where only the state of things is in the way. npm, npx and docker commands are
 *          those of support/doc-commands.ts, which says of each whether it is run here or who runs it.
 *   (none) right after sh is what a reader should see: status line, headers and the form of JSON are compared. An id in it
 *          stands, in later blocks, for the one that came. Of other lines the counts are compared, and the words.
 *   json   likewise after sh; elsewhere it has to parse.
 *   ts     is compiled and run. It imports from 'semel' or 'semel/client'. What listens is sent a webhook.
 *   csv    has to parse. If the line before it ends with the name of a file and a colon, the commands after it find the file.
 *   yaml   has to parse; its services have to be those of docker-compose.yml.
 * What only a reader has goes to the placeholders of support/doc-readers.ts.
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
let readers: DocReaders;

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
  readers = new DocReaders(service, folder);
});

afterAll(async () => {
  await service.close();
  await rm(folder, { recursive: true, force: true });
});

it('every block says what it is', () => {
  const known = ['', 'sh', 'ts', 'json', 'yaml', 'csv'];
  expect(blocks.filter(({ language }) => !known.includes(language)).map(placeOf)).toEqual([]);
  expect(ofLanguage('sh').length).toBeGreaterThan(20);
});

describe.each(pagesWithCommands)('the commands of %s', (page) => {
  it('do what the page says, in order', async () => {
    const shell = await readers.openShell(page);
    const faults: string[] = [];
    for (const block of blocks.filter((each) => each.page === page)) {
      if (block.language === 'csv' && block.file !== undefined) await shell.write(block);
      if (block.language === 'sh') faults.push(...(await shell.run(block)).faults);
    }
    expect(faults.join('\n\n')).toBe('');
  });
});

const composeVariables = 'POSTGRES_PASSWORD=… SEMEL_API_KEY=… SEMEL_ADMIN_PASSWORD=… SEMEL_SECRET_KEY=…';

it.each([
  ['exit code 1', 'false'],
  ['exit code 127', 'some-program-that-is-not-there'],
  ['a curl was answered with 404', 'curl -s localhost:3000/nowhere'],
  ['a curl was answered with 401', 'curl -s localhost:3000/v1/accounts'],
  ['nothing checks "docker run semel"', 'docker run semel'],
  ['nothing like {"id":1} came', 'echo nothing', '{"id":1}'],
  ['there is no line like "created    2"', 'echo "created    1"', 'created    2\n'],
  ['there is no line like "2 rows in 1 s"', 'echo "2 lines in 1 s"', '2 rows in 1 s\n'],
  ['there is no line like "first"', 'echo second; echo first', 'second\nfirst\nfirst\n'],
  ['"npm start -- --fast" is wrong: it takes no --fast', 'npm start -- --fast'],
  ['"npm run demo fast" is wrong: it takes no fast', 'npm run demo fast'],
  ['"npm test -- test/nowhere" is wrong: there is no test', 'npm test -- test/nowhere'],
  ['"npx vitest run nowhere" is wrong: there is no test', 'npx vitest run nowhere'],
  ['nothing checks "npx vitest --nowhere"', 'npx vitest --nowhere'],
  ['"npm run bench -- --only nothing" is wrong: Usage', 'npm run bench -- --only nothing'],
  ['npm takes --only for itself', 'npm run bench --only replays'],
  ['docker-compose.yml has no service workers', `${composeVariables} docker compose up --scale workers=4`],
  ['docker-compose.yml has no service redish', `${composeVariables} docker compose up redish`],
  ["Unknown option '--biuld'", `${composeVariables} docker compose up --biuld`],
  ['docker-compose.yml needs POSTGRES_PASSWORD', 'docker compose up'],
  ['nowhere.csv', 'npm run bulk -- nowhere.csv --operation transfer.create'],
  ["Unknown option '--fast'", 'npm run audit:verify -- --fast'],
])('a page would fail with: %s', async (fault, source, shown?: string) => {
  const shell = await readers.openShell('nobody');
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
  const fileOf = (block: (typeof programs)[number]) =>
    join(folder, 'programs', `${placeOf(block).replaceAll(/[^\w]+/g, '-')}.ts`);
  const servers = programs.filter(({ text: source }) => source.includes('.listen('));
  let port: number;

  beforeAll(async () => {
    port = await findFreePort();
    await mkdir(join(folder, 'programs'));
    await writeFile(join(folder, 'programs', 'package.json'), JSON.stringify({ type: 'module' }));
    for (const block of programs) {
      const source = block.text
        .replaceAll(/from 'semel(\/client)?'/g, (_, part) => `from '../../../../src/${part ? 'client/' : ''}index.ts'`)
        .replaceAll('http://127.0.0.1:3000', service.api.url)
        .replaceAll(/\.listen\(\d+/g, `.listen(${port}`);
      // Without it a block that imports nothing would be a script and share its names with the others.
      await writeFile(fileOf(block), `${source}\nexport {};\n`);
    }
  });

  it('compiles', async () => {
    const config = { extends: '../../../../tsconfig.json', include: ['*.ts'] };
    await writeFile(join(folder, 'programs', 'tsconfig.json'), JSON.stringify(config));
    const compiled = await run(join(root, 'node_modules', '.bin', 'tsc'), ['-p', join(folder, 'programs')]);
    expect(compiled).toEqual({ code: 0, output: '', errors: '' });
  });

  const ending = programs.filter((block) => !servers.includes(block));
  it.each(ending.map((block) => [placeOf(block), block] as const))('%s runs', async (_place, block) => {
    const { code, errors } = await run(process.execPath, ['--import', 'tsx', fileOf(block)], {
      SEMEL_API_KEY: await readers.keyOf(block.page),
    });
    // What a program catches and reports is a failure of the page, too.
    expect({ code, errors }).toEqual({ code: 0, errors: '' });
  });

  it.each(servers.map((block) => [placeOf(block), block] as const))('%s takes a webhook', async (_place, block) => {
    const { api } = service;
    const wanted = { url: `http://127.0.0.1:${port}/`, events: ['transfer.completed'] };
    const { id, secret } = (await api.post('/v1/webhooks', wanted)).body;
    const server = await startDocServer(fileOf(block), port, { WEBHOOK_SECRET: secret });
    try {
      const { eventId } = (await api.post(`/v1/webhooks/${id}/test`, {})).body;
      await eventually(async () => {
        const [delivery] = (await api.get(`/v1/webhooks/${id}/deliveries`)).body.items;
        expect(delivery).toMatchObject({ eventId, status: 'DELIVERED', attempts: 1 });
      });
      expect(server.output()).toBe(`${eventId} webhook.test\n`);
      const unsigned = await fetch(server.url, { method: 'POST', body: '{"type":"transfer.completed"}' });
      expect(unsigned.status).toBe(400);
    } finally {
      await server.stop();
    }
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
  for (const block of ofLanguage('yaml')) {
    const services = Object.keys(parseYaml(block.text, { merge: true }).services);
    expect(() => checkServices(services), placeOf(block)).not.toThrow();
  }
  for (const block of ofLanguage('csv')) expect(() => parseCsv(block.text), placeOf(block)).not.toThrow();
});

it('the variables that a page sets are read by the service', () => {
  expect(unknownVariables('PORT=4000 PROT=1 npm start\nexport MINE=1\nAWS_REGION=…\nLOG_LEVLE=info')).toEqual([
    'PROT',
    'LOG_LEVLE',
  ]);
  for (const block of ofLanguage('sh')) expect(unknownVariables(block.text), placeOf(block)).toEqual([]);
});

it.each(pages)('the commands that the text of %s names are right', (page) => {
  const commands = namedCommands(page).map((text) => ({ words: text.split(/\s+/), environment: {} }));
  expect(commands.map(checkCommand).filter((fault) => fault !== undefined)).toEqual([]);
});

describe('what is not run here', () => {
  it('is checked by something that exists', () => {
    const named = [...knownCommands.map(({ because = '' }) => because), ...runElsewhere.map(({ by }) => by)];
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
