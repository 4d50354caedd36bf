import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startPostgres } from '../../scripts/embedded/postgres-server.ts';
import { verifyAudit } from '../../src/store/audit-verify.ts';
import { migrateToLatest } from '../../src/store/migrate.ts';
import { openTestDatabase, openTestStores, type TestStores, testDataDir } from '../support/service.ts';
import { root } from '../support/sources.ts';
import { makeTrail, unguardAudit } from '../support/trails.ts';

let stores: TestStores;
let id: string;

beforeAll(async () => {
  stores = await openTestStores();
  await makeTrail(stores.db);
  id = await makeTrail(stores.db, { failures: 2 });
});

afterAll(() => stores.close());

async function run(args: string[], environment: Record<string, string> = stores.environment) {
  const child = spawn(process.execPath, ['scripts/bootstrap.mjs', 'audit:verify', ...args], {
    cwd: root,
    env: { PATH: process.env.PATH, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [out, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { code, out, errors };
}

it('says that all is whole, with exit code 0, and gives a seal that fits later', async () => {
  const { code, out, errors } = await run([]);
  expect({ code, errors }).toEqual({ code: 0, errors: '' });
  expect(out).toContain('OK: 12 rows in 2 trails, all whole.');
  const [, seal = ''] = /^Seal: (\S+)$/m.exec(out) ?? [];
  await makeTrail(stores.db);
  const compared = await run(['--seal', seal]);
  expect({ code: compared.code, errors: compared.errors }).toEqual({ code: 0, errors: '' });
  expect(compared.out).toContain('The seal fits');
});

it('checks one record, or those since an instant, and then gives no seal', async () => {
  const one = await run(['--record', id.toUpperCase()]);
  expect(one).toEqual({ code: 0, errors: '', out: 'OK: 7 rows in 1 trails, all whole.\n' });
  const none = await run(['--since', '2999-01-01']);
  expect(none).toEqual({ code: 0, errors: '', out: 'OK: 0 rows in 0 trails, all whole.\n' });
});

it.each([
  [['--record', 'one'], '--record must be the id of an operation, and is "one".'],
  [['--record', '01a1edc8-25e9-7125-a009-727aa785e463'], 'There is no record 01a1edc8-25e9-7125-a009-727aa785e463'],
  [['--since', 'yesterday'], '--since must be a date or an instant'],
  [['--seal', '2026-11-18'], '--seal must be a seal as this command prints it'],
  [['--seal', `2026-11-18T00:00:00Z/${'0'.repeat(64)}`, '--since', '2026-11-18'], 'A seal covers every trail'],
  [['--fast'], "Unknown option '--fast'"],
])('refuses %j with a line that says why', async (args, line) => {
  const { code, out, errors } = await run(args);
  expect({ code, out }).toEqual({ code: 1, out: '' });
  expect(errors.startsWith(line), errors).toBe(true);
  expect(errors).not.toContain('    at ');
});

it('says where it looked when there is no database, and that nobody answers when nobody does', async () => {
  const { DATABASE_URL, ...others } = stores.environment;
  expect((await run([], others)).errors).toMatch(
    /^DATABASE_URL is not set, and there is no embedded database in .*\n$/,
  );
  const away = await run([], { ...others, DATABASE_URL: 'postgres://127.0.0.1:1/semel' });
  expect(away).toMatchObject({ code: 1, errors: expect.stringMatching(/^connect ECONNREFUSED.*\n$/) });
});

it('finds the embedded database of npm start, running or not', async () => {
  const dataDir = testDataDir();
  await mkdir(dataDir, { mode: 0o711 });
  const server = await startPostgres({ dir: join(dataDir, 'postgres'), fsync: false });
  await migrateToLatest(server.url);
  const db = openTestDatabase(server.url);
  await makeTrail(db, { failures: 0 });
  await db.destroy();
  const environment = { SEMEL_DATA_DIR: dataDir };
  const expected = { code: 0, errors: '', out: expect.stringContaining('OK: 3 rows in 1 trails, all whole.') };
  expect(await run([], environment)).toEqual(expected);
  await server.stop();
  expect(await run([], environment)).toEqual(expected);
});

describe('with all rights over the database', () => {
  beforeAll(() => unguardAudit(stores.db));

  it('a trail that is removed as a whole breaks the seal', async () => {
    const until = new Date(Date.now() + 1);
    const extra = await makeTrail(stores.db);
    const { seal } = await verifyAudit(stores.db, { sealedUntil: new Date(until.getTime() + 60_000) });
    await sql`delete from audit where record_id = ${extra}`.execute(stores.db);
    await sql`delete from records where id = ${extra}`.execute(stores.db);
    const { code, errors } = await run(['--seal', `${new Date(until.getTime() + 60_000).toISOString()}/${seal}`]);
    expect(code).toBe(1);
    expect(errors).toMatch(/^BROKEN: the seal does not fit/);
    await sql`insert into audit_trims (until, trimmed_at) values ('2001-01-01', now() + interval '1 hour')`.execute(
      stores.db,
    );
    const trimmed = await run(['--seal', `${until.toISOString()}/${'0'.repeat(64)}`]);
    expect(trimmed).toMatchObject({ code: 1, errors: expect.stringContaining('cannot be compared any more') });
  });

  it('a changed row is named first, with exit code 1 and how many are broken in all', async () => {
    await sql`update audit set actor = 'somebody' where record_id = ${id} and seq in (3, 5)`.execute(stores.db);
    const { code, errors } = await run([]);
    const line = `record ${id}, row 3: its fields do not give its hash: it was changed`;
    expect(code).toBe(1);
    expect(errors.split('\n')[0]).toBe(line);
    expect(errors).toMatch(new RegExp(`^BROKEN: 2 of [\\d,]+ rows in \\d+ trails. The first: ${line}$`, 'm'));
    expect((await run(['--record', id])).code).toBe(1);
  });
});

it('names a database that was not migrated', async () => {
  const client = openTestDatabase(stores.environment.DATABASE_URL ?? '');
  const name = `bare_${randomUUID().replaceAll('-', '')}`;
  await sql.raw(`create database ${name}`).execute(client);
  const url = new URL(stores.environment.DATABASE_URL ?? '');
  url.pathname = `/${name}`;
  const { code, errors } = await run([], { DATABASE_URL: url.href });
  await sql.raw(`drop database ${name} (force)`).execute(client);
  await client.destroy();
  expect(code).toBe(1);
  expect(errors).toMatch(/^The database lacks the migrations 0001_records, .*\n$/);
});
