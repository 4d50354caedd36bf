import { Migrator, sql } from 'kysely';
import { type Database, openDatabase } from './database.ts';
import { migrations } from './migrations/index.ts';
import { findPostgresVersionFault } from './postgres-version.ts';
import { StartError, toStartError } from './start-error.ts';

/** Brings the database up to date. Safe to run from several processes at once: the migrator takes a lock. */
export async function migrateToLatest(databaseUrl: string): Promise<void> {
  const db = openDatabase({
    url: databaseUrl,
    poolSize: 2,
    applicationName: 'semel-migrate',
    idleInTransactionTimeoutMs: 0,
    onError: () => undefined,
  });
  try {
    const versionFault = await findPostgresVersionFault(db);
    if (versionFault) throw new StartError(versionFault);
    const { error } = await migratorOf(db).migrateToLatest();
    if (error) throw error;
    await ensureAuditPartitions(db);
  } catch (error) {
    throw toStartError(error);
  } finally {
    await db.destroy();
  }
}

/** The names of the migrations that this version needs and the database does not have yet. */
export async function pendingMigrations(db: Database): Promise<string[]> {
  const all = await migratorOf(db).getMigrations();
  return all.filter((migration) => migration.executedAt === undefined).map((migration) => migration.name);
}

/** The same, in one small query, for a database that has been migrated before. */
export async function missingMigrations(db: Database): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`select name from kysely_migration`.execute(db);
  const present = new Set(rows.map(({ name }) => name));
  return Object.keys(migrations).filter((name) => !present.has(name));
}

/** Three months ahead. Workers come by twice a day, so that it is always done in time. */
export async function ensureAuditPartitions(db: Database): Promise<void> {
  await sql`select ensure_audit_partitions(now(), 3)`.execute(db);
}

function migratorOf(db: Database): Migrator {
  return new Migrator({ db, provider: { getMigrations: async () => migrations } });
}
