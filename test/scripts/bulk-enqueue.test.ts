import { randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { countsIn, runBulk, startBulk } from '../support/run-bulk.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
let folder: string;
let accounts: [from: string, to: string];
const url = () => service.api.url;

beforeAll(async () => {
  service = await startTestService();
  accounts = [await service.api.openAccount(1_000_000), await service.api.openAccount(0)];
});
beforeEach(async () => {
  folder = await mkdtemp(join(inject('runDir'), 'bulk-'));
});
afterAll(() => service.close());

const header = 'fromAccountId,toAccountId,amount,description';
const rowOf = (description: string, amount: number | string = 1) => `${accounts.join(',')},${amount},${description}`;
const transfers = (name: string) => [join(folder, name), '--operation', 'transfer.create'];
const countRecords = async (): Promise<number> => {
  const { count } = await service.db
    .selectFrom('records')
    .select((eb) => eb.fn.countAll<string>().as('count'))
    .executeTakeFirstOrThrow();
  return Number(count);
};

function write(name: string, content: string | Buffer): void {
  writeFileSync(join(folder, name), content);
}

const read = (name: string): string => readFileSync(join(folder, name), 'utf8');

describe('npm run bulk', () => {
  it('takes each row once, says which were refused, and of a corrected file runs only what is new', async () => {
    const run = randomUUID();
    const rows = Array.from({ length: 30 }, (_, index) =>
      rowOf(`${run} ${index}`, index % 10 === 9 ? [0, '1.5', 'ten'][Math.floor(index / 10)] : index + 1),
    );
    write('rents.csv', [header, ...rows].join('\n'));
    const first = await runBulk(url(), transfers('rents.csv'));
    expect(first, first.output).toMatchObject({ code: 1, created: 27, replayed: 0, refused: 3, failed: 0 });
    const [columns = '', ...refused] = read('rents.refused.csv').trim().split('\n');
    expect(columns).toBe(`${header},semel_line,semel_code,semel_reason,semel_text`);
    expect(refused.map((line) => line.split(',')[4])).toEqual(['11', '21', '31']);
    expect(refused.every((line) => line.includes('INVALID_REQUEST'))).toBe(true);

    // Corrected in the file of refused rows itself.
    write('mended.csv', [columns, ...refused.map((line) => line.replace(/,(0|1\.5|ten),/, ',7,'))].join('\n'));
    const mended = await runBulk(url(), transfers('mended.csv'));
    expect(mended, mended.output).toMatchObject({ code: 0, created: 3, replayed: 0, refused: 0 });

    // And in the whole file.
    write(
      'rents.csv',
      [header, ...rows.map((row) => row.replace(/,(0|1\.5|ten),/, ',7,')), rowOf(`${run} new`)].join('\n'),
    );
    const whole = await runBulk(url(), transfers('rents.csv'));
    expect(whole, whole.output).toMatchObject({ code: 0, created: 1, replayed: 30, refused: 0 });
  });

  it('reads NDJSON, whose lines are requests or have a key of their own', async () => {
    const [key, description] = [`nd-${randomUUID()}`, randomUUID()];
    const request = { fromAccountId: accounts[0], toAccountId: accounts[1], amount: 3, description };
    const lines = [
      JSON.stringify(request),
      JSON.stringify({ key, request }),
      '',
      JSON.stringify({ key, request: { ...request, amount: 4 } }),
      'no JSON',
      JSON.stringify({ operation: 'account.open', request }),
    ];
    write('list.ndjson', lines.join('\n'));
    const run = await runBulk(url(), transfers('list.ndjson'));
    expect(run, run.output).toMatchObject({ code: 1, created: 2, refused: 3 });
    const refused = read('list.refused.ndjson')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(refused).toMatchObject([
      { key, semel_line: 4, semel_code: 'INCONSISTENT_REQUEST' },
      { semel_line: 5, semel_code: 'UNREADABLE_ROW', semel_text: 'no JSON' },
      { semel_line: 6, semel_code: 'UNREADABLE_ROW', operation: 'account.open' },
    ]);
  });

  it('reads what spreadsheets write, and takes the key from a column', async () => {
    const run = randomUUID().slice(0, 8);
    const rows = [
      'Invoice;fromAccountId;toAccountId;amount;description',
      `${run}-0001;${accounts.join(';')};5;"Zürich; ""Süd"""`,
      `${run}-0001;${accounts.join(';')};5;"Zürich; ""Süd"""`,
      `;${accounts.join(';')};5;`,
      `short;${accounts.join(';')};5;`,
    ];
    write('sheet.csv', Buffer.from(`\uFEFF${rows.join('\r\n')}`, 'utf16le'));
    const result = await runBulk(url(), [...transfers('sheet.csv'), '--key', 'Invoice', '--client-id', 'shop-7']);
    expect(result, result.output).toMatchObject({ code: 1, created: 1, replayed: 1, refused: 2 });
    expect(result.output).toContain('line 3');
    expect(read('sheet.refused.csv')).toMatch(/;4;UNREADABLE_ROW;.*\n.*;5;IDEMPOTENCY_KEY_INVALID;/);
    const record = await service.db
      .selectFrom('records')
      .selectAll()
      .where('key', '=', `${run}-0001`)
      .executeTakeFirstOrThrow();
    expect(record).toMatchObject({ sub_client: 'shop-7', request: { amount: 5, description: 'Zürich; "Süd"' } });
  });

  it('writes nothing that a spreadsheet would take for a formula, and reads it back as it was', async () => {
    const formula = `=HYPERLINK("${randomUUID()}")`;
    const cell = `"${formula.replaceAll('"', '""')}"`;
    write('evil.csv', `${header}\n${rowOf(cell, 0)}\n`);
    expect((await runBulk(url(), transfers('evil.csv'))).code).toBe(1);
    expect(read('evil.refused.csv')).toContain(`"'=HYPERLINK`);
    write('good.csv', read('evil.refused.csv').replace(',0,', ',1,'));
    expect((await runBulk(url(), transfers('good.csv'))).code).toBe(0);
    const found = await service.db.selectFrom('records').select('request').orderBy('id', 'desc').executeTakeFirst();
    expect(found?.request).toMatchObject({ description: formula });
  });

  it('--dry-run checks every row, shows what would be sent, and sends nothing', async () => {
    const before = await countRecords();
    write('plan.csv', [header, rowOf('a'), rowOf('b', 'x'), rowOf('c')].join('\n'));
    const run = await runBulk('http://127.0.0.1:1', [...transfers('plan.csv'), '--dry-run']);
    expect(run, run.output).toMatchObject({ code: 1, 'would send': 2, refused: 1 });
    expect(run.output).toContain(`"request":{"fromAccountId":"${accounts[0]}"`);
    expect(read('plan.refused.csv')).toContain(',3,INVALID_REQUEST,');
    expect(await countRecords()).toBe(before);
  });

  it.each([
    [['nowhere.csv', '--operation', 'transfer.create'], 'The file cannot be read'],
    [['good.csv', '--operation', 'transfer.undo'], 'There is no operation transfer.undo'],
    [['good.csv'], '--operation NAME'],
    [['good.csv', '--operation', 'transfer.create', '--key', 'id'], 'There is no column "id"'],
    [['wide.csv', '--operation', 'transfer.create'], 'no fields of transfer.create: note'],
    [['narrow.csv', '--operation', 'transfer.create'], 'needs columns that are not there: amount'],
    [['good.csv', '--operation', 'transfer.create', '--concurrency', '0'], '--concurrency must be'],
    [['good.csv', '--operation', 'transfer.create', '--frobnicate'], '--frobnicate'],
  ])('with %j says what is wrong in a line and sends nothing', async ([file = '', ...args], reason) => {
    write('good.csv', `${header}\n${rowOf('x')}\n`);
    write('wide.csv', `${header},note\n${rowOf('x')},y\n`);
    write('narrow.csv', `fromAccountId,toAccountId\n${accounts.join(',')}\n`);
    const before = await countRecords();
    const run = await runBulk(url(), [join(folder, file), ...args]);
    expect(run.code, run.output).toBe(1);
    expect(run.output).toContain(reason);
    expect(run.output).not.toContain('    at ');
    expect(await countRecords()).toBe(before);
  });

  it('tells at once when nothing is there or the key is not good', async () => {
    write('good.csv', `${header}\n${rowOf('x')}\n`);
    const nobody = await runBulk('http://127.0.0.1:1', transfers('good.csv'));
    expect(nobody, nobody.output).toMatchObject({ code: 1 });
    expect(nobody.output).toContain('Nothing answers at http://127.0.0.1:1');
  });

  it('Ctrl-C ends it with the counts so far and 130', async () => {
    const run = randomUUID();
    write('long.csv', [header, ...Array.from({ length: 60_000 }, (_, index) => rowOf(`${run} ${index}`))].join('\n'));
    const before = await countRecords();
    const started = startBulk(url(), transfers('long.csv'));
    // More than are under way at a time, so that some have their answer.
    await eventually(async () => expect(await countRecords()).toBeGreaterThan(before + 5_000), { timeoutMs: 60_000 });
    process.kill(-(started.child.pid ?? 0), 'SIGINT');
    expect(await started.exitCode).toBe(130);
    const { created = 0 } = countsIn(started.output());
    expect(created).toBeGreaterThan(1_000);
    expect(created).toBeLessThan(60_000);
    expect(started.output()).toContain('Run it again to send the rest');
  });

  it('--help shows how it is used', async () => {
    const run = await runBulk(url(), ['--help']);
    expect(run.code).toBe(0);
    expect(run.output).toContain('npm run bulk -- rents.csv --operation transfer.create');
  });
});
