import { Migrator, sql } from 'kysely';
import { expect, it } from 'vitest';
import { verifyAudit } from '../../src/store/audit-verify.ts';
import { migrateToLatest } from '../../src/store/migrate.ts';
import { migrations } from '../../src/store/migrations/index.ts';
import { openTestDatabase } from '../support/service.ts';
import { startPrivatePostgres } from '../support/stores.ts';
import { makeTrail } from '../support/trails.ts';

it('rows from before the chain existed are chained as they are, and trails without a record are ended', async () => {
  const postgres = await startPrivatePostgres();
  const db = openTestDatabase(postgres.url);
  try {
    const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } });
    const { error } = await migrator.migrateTo('0015_housekeeping');
    if (error) throw error;
    const [kept, gone] = [await makeTrail(db, { failures: 0 }), await makeTrail(db, { failures: 0 })];
    await sql`delete from records where id = ${gone}`.execute(db);

    await migrateToLatest(postgres.url);
    expect(await verifyAudit(db)).toMatchObject({ chains: 2, rows: 7, faults: 0 });
    const { rows } = await sql`select record_id, actor from audit where to_status = 'EXPIRED'`.execute(db);
    expect(rows).toEqual([{ record_id: gone, actor: 'migration' }]);
    // The guards are up again, and the chain of the record that is left goes on.
    await expect(sql`update audit set actor = 'x'`.execute(db)).rejects.toThrow('append-only');
    await sql`delete from records where id = ${kept}`.execute(db);
    expect(await verifyAudit(db)).toMatchObject({ chains: 2, rows: 8, faults: 0 });
  } finally {
    await db.destroy();
    await postgres.stop();
  }
});
