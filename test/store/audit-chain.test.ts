import fc from 'fast-check';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type ChainHead, type ChainRow, findEndFault, findRowFault, hashRow } from '../../src/store/audit-chain.ts';
import { openTestStores, type TestStores } from '../support/service.ts';

let stores: TestStores;

beforeAll(async () => {
  stores = await openTestStores();
});

afterAll(() => stores.close());

// Everything that Postgres can keep in a text: any character but NUL and half of a pair.
const text = fc
  .oneof(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'binary' }))
  .map((value) => value.replaceAll('\0', '').toWellFormed());
const json = fc.jsonValue().map((value) => JSON.stringify(value).replaceAll('\\u0000', ''));
const number = fc.integer({ min: 0, max: 2 ** 31 - 1 });
const instant = fc
  .tuple(fc.date({ min: new Date(0), max: new Date('9000-01-01'), noInvalidDate: true }), fc.nat(999))
  .map(([date, micros]) => date.toISOString().replace('Z', `${String(micros).padStart(3, '0')}Z`));
const hash = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes).toString('hex'));

const fields = {
  recordId: fc.uuid(),
  seq: number,
  at: instant,
  from: fc.option(text),
  to: text,
  actor: text,
  epoch: number,
  detail: fc.option(json),
  prevHash: fc.option(hash),
};

it('the database and the verifier agree on the hash of any row', async () => {
  await fc.assert(
    fc.asyncProperty(fc.record(fields), async (row) => {
      const { rows } = await sql<{ hash: string; detail: string | null }>`
        select detail::text, encode(hash_audit(decode(${row.prevHash}, 'hex'), ${row.recordId}, ${row.seq}, ${row.at},
          ${row.from}, ${row.to}, ${row.actor}, ${row.epoch}, detail), 'hex') as hash
        from (select ${row.detail}::jsonb as detail) r`.execute(stores.db);
      const detail = rows[0]?.detail ?? null;
      expect(hashRow({ ...row, detail, hash: '' })).toBe(rows[0]?.hash);
    }),
    { numRuns: 300 },
  );
});

interface Step {
  at: string;
  to: string;
  actor: string;
  epoch: number;
  detail: string | null;
}

const steps = fc.array(fc.record({ at: instant, to: text, actor: text, epoch: number, detail: fc.option(json) }), {
  minLength: 1,
  maxLength: 8,
});

function chainOf(recordId: string, list: readonly Step[]): ChainRow[] {
  const rows: ChainRow[] = [];
  for (const step of list) {
    const before = rows.at(-1);
    const link = { seq: rows.length + 1, from: before?.to ?? null, prevHash: before?.hash ?? null };
    const row = { recordId, ...step, ...link, hash: '' };
    rows.push({ ...row, hash: hashRow(row) });
  }
  return rows;
}

function faultsOf(rows: readonly ChainRow[], head: ChainHead): string[] {
  const last = rows.at(-1);
  const end = last && findEndFault(last, head);
  return [...rows.map((row, index) => findRowFault(rows[index - 1], row)), end].filter((fault) => fault !== undefined);
}

const headOf = (rows: readonly ChainRow[]): ChainHead => {
  const last = rows.at(-1);
  return { transitions: rows.length, status: last?.to ?? '', hash: last?.hash ?? null };
};

it('any change of any field of any row of any chain is found, with or without a new hash of the row', () => {
  const change = fc.oneof(
    ...Object.entries({ ...fields, hash }).map(([name, value]) => fc.record({ name: fc.constant(name), value })),
  );
  fc.assert(
    fc.property(fc.uuid(), steps, fc.nat(), change, fc.boolean(), (id, list, position, { name, value }, isRehashed) => {
      const rows = chainOf(id, list);
      const head = headOf(rows);
      expect(faultsOf(rows, head)).toEqual([]);
      const index = position % rows.length;
      const row = rows[index];
      if (!row) throw new Error('a chain has at least one row');
      const changed: ChainRow = { ...row, [name]: value };
      fc.pre(JSON.stringify(changed) !== JSON.stringify(row));
      if (isRehashed) changed.hash = hashRow(changed);
      fc.pre(JSON.stringify(changed) !== JSON.stringify(row));
      expect(faultsOf(rows.with(index, changed), head)).not.toEqual([]);
    }),
    { numRuns: 3_000 },
  );
});

it('any rows left out, doubled or in another order are found', () => {
  const shuffle = fc.infiniteStream(fc.nat());
  fc.assert(
    fc.property(fc.uuid(), steps, shuffle, fc.nat({ max: 9 }), (id, list, picks, count) => {
      const rows = chainOf(id, list);
      const other = [...picks.take(count)].flatMap((pick) => rows[pick % rows.length] ?? []);
      fc.pre(other.length > 0 && JSON.stringify(other) !== JSON.stringify(rows));
      expect(faultsOf(other, headOf(rows))).not.toEqual([]);
    }),
    { numRuns: 2_000 },
  );
});
