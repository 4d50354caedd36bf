import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { describeVersionFault, findPostgresVersionFault } from '../../src/store/postgres-version.ts';
import { openTestStores } from '../support/service.ts';

it.each([
  [90_624, '9.6'],
  [100_001, '10.1'],
  [140_023, '14.23'],
])('version %d is refused by its name, with the version that is needed and why', (version, name) => {
  expect(describeVersionFault(version)).toBe(
    `Postgres ${name} is too old: Semel needs 15 or later, the oldest version that it was tried on.`,
  );
});

it.each([150_000, 150_018, 180_004, 200_000])('version %d will do', (version) => {
  expect(describeVersionFault(version)).toBeUndefined();
});

it('the server itself is asked', async () => {
  const stores = await openTestStores();
  try {
    expect(await findPostgresVersionFault(stores.db)).toBeUndefined();
    const { rows } = await sql<{ server_version_num: string }>`show server_version_num`.execute(stores.db);
    expect(describeVersionFault(Number(rows[0]?.server_version_num))).toBeUndefined();
  } finally {
    await stores.close();
  }
});
