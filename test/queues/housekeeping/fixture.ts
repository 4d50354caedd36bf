import { type Kysely, sql } from 'kysely';
import { expect } from 'vitest';
import { readConfig } from '../../../src/config.ts';
import { Queues } from '../../../src/queues/queues.ts';
import type { Database } from '../../../src/store/database.ts';
import { hashTagOf, openRedis, type RedisClient } from '../../../src/store/redis.ts';
import { eventually } from '../../support/eventually.ts';
import { openTestStores, type TestStores } from '../../support/service.ts';

export interface HousekeepingFixture extends TestStores {
  redis: RedisClient;
  queues: Queues;
  prefix: string;
}

/** Stores of the test's own, with queues and without a worker. */
export async function openFixture(stores?: TestStores): Promise<HousekeepingFixture> {
  const own = stores ?? (await openTestStores());
  const prefix = hashTagOf(own.environment.REDIS_PREFIX ?? '');
  const redis = openRedis(readConfig(own.environment), 'caller', () => undefined);
  const queues = new Queues(redis, prefix, () => undefined);
  await eventually(() => expect(redis.status).toBe('ready'));
  const close = async () => {
    await queues.close();
    redis.disconnect();
    if (!stores) await own.close();
  };
  return { ...own, redis, queues, prefix, close };
}

/** Records of every status, `count` of each kind. The key says whether they have expired. */
export async function plantRecords(db: Database, count: number): Promise<void> {
  await sql`
    insert into records (id, client, sub_client, operation, key, fingerprint, request, status, settled_at, expires_at)
    select gen_random_uuid(), 'default', '', 'account.open', kind.name || '-' || n, 'f', '{}', kind.status,
      case when kind.status in ('QUEUED', 'PROCESSING') then null else now() - interval '1 day' end,
      now() + kind.expires_in
    from generate_series(1, ${count}::integer) n, (values
      ('expired-succeeded', 'SUCCEEDED', interval '-1 second'), ('expired-rejected', 'REJECTED', interval '-1 hour'),
      ('expired-failed', 'FAILED', interval '-1 day'), ('kept-succeeded', 'SUCCEEDED', interval '1 minute'),
      ('kept-rejected', 'REJECTED', interval '1 hour'), ('kept-failed', 'FAILED', interval '1 day'),
      -- As nothing writes them: whatever their expiry says, they are not over.
      ('kept-unknown', 'UNKNOWN', interval '-1 hour'), ('kept-unknown-open', 'UNKNOWN', null),
      ('kept-queued', 'QUEUED', interval '-1 hour'), ('kept-queued-open', 'QUEUED', null),
      ('kept-processing', 'PROCESSING', interval '-1 hour'), ('kept-processing-open', 'PROCESSING', null)
    ) as kind (name, status, expires_in)`.execute(db as Kysely<unknown>);
}

/** The rows that must stay, whole. */
export async function readKept(db: Database) {
  return await db.selectFrom('records').selectAll().where('key', 'like', 'kept-%').orderBy('id').execute();
}

export async function countExpired(db: Database): Promise<number> {
  const rows = await db.selectFrom('records').select('id').where('key', 'like', 'expired-%').execute();
  return rows.length;
}
