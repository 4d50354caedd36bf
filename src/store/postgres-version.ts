import { sql } from 'kysely';
import type { Database } from './database.ts';

/** The oldest version on which migrations and functions were run. */
const oldestMajor = 15;

/** What is wrong with the version of Postgres, or undefined. */
export async function findPostgresVersionFault(db: Database): Promise<string | undefined> {
  const { rows } = await sql<{ version: number }>`
    select current_setting('server_version_num')::integer as version`.execute(db);
  return describeVersionFault(rows[0]?.version ?? 0);
}

/** `version` as `SHOW server_version_num` gives it: 180004 is 18.4, 90624 is 9.6.24. */
export function describeVersionFault(version: number): string | undefined {
  const major = Math.floor(version / 10_000);
  if (major >= oldestMajor) return undefined;
  const name = major >= 10 ? `${major}.${version % 10_000}` : `${major}.${Math.floor(version / 100) % 100}`;
  return `Postgres ${name} is too old: Semel needs ${oldestMajor} or later, the oldest version that it was tried on.`;
}
