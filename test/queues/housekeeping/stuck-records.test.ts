import { type Kysely, sql } from 'kysely';
import { type Logger, pino } from 'pino';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { createTasks } from '../../../src/queues/housekeeping/tasks.ts';
import type { FileStorage } from '../../../src/store/files/file-storage.ts';
import { type HousekeepingFixture, openFixture } from './fixture.ts';

let fixture: HousekeepingFixture;

beforeAll(async () => {
  fixture = await openFixture();
});

afterAll(() => fixture.close());

/** Made and last touched so long ago, and put off until then. */
async function plant(status: string, minutes: number, nextAttemptInMinutes: number | null = null): Promise<void> {
  const id = uuidv7({ msecs: Date.now() - minutes * 60_000 });
  await sql`
    insert into records (id, client, sub_client, operation, fingerprint, request, status, settled_at, updated_at,
      next_attempt_at)
    values (${id}::uuid, 'default', '', 'account.open', 'f', '{}', ${status},
      case when ${status} in ('QUEUED', 'PROCESSING') then null else now() end,
      now() - make_interval(mins => ${minutes}), now() + make_interval(mins => ${nextAttemptInMinutes}))`.execute(
    fixture.db as Kysely<unknown>,
  );
}

it('records that nobody touched for half an hour are counted and warned about, and no others', async () => {
  const log: Logger = pino({ level: 'silent' });
  const warn = vi.spyOn(log, 'warn');
  const tasks = createTasks({
    ...fixture,
    relaxedDb: fixture.db,
    storage: {} as FileStorage,
    log,
    hitFailpoint: () => undefined,
    auditRetentionDays: 365,
  });
  const run = async () => await tasks.find(({ name }) => name === 'stuck-records')?.run(new AbortController().signal);
  await plant('QUEUED', 29);
  await plant('QUEUED', 60, 5);
  await plant('SUCCEEDED', 60);
  await plant('UNKNOWN', 60);
  expect(await run()).toEqual({ stuck: 0 });
  expect(warn).not.toHaveBeenCalled();
  await plant('QUEUED', 31);
  await plant('PROCESSING', 600);
  expect(await run()).toEqual({ stuck: 2 });
  expect(warn).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ stuck: 2 }), 'records are stuck');
});
