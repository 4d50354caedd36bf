import { randomUUID } from 'node:crypto';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Consumer } from '../../src/queues/notification-worker.ts';
import { eventually } from '../support/eventually.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
/** The events that each group has consumed, in order. */
const consumed = { one: [] as string[], two: [] as string[] };
const failures = new Map<string, number>();

const consumerOf = (group: 'one' | 'two'): Consumer => ({
  group,
  consume: async (event) => {
    const left = failures.get(group) ?? 0;
    failures.set(group, left - 1);
    if (left > 0) throw new Error('not yet');
    consumed[group].push(event.id);
  },
});

beforeAll(async () => {
  service = await startTestService({ consumers: [consumerOf('one'), consumerOf('two')] });
  await sql`insert into consumer_groups values ('one', '{transfer.completed}'), ('two', '{transfer.completed,transfer.rejected}')`.execute(
    service.db,
  );
});

afterAll(() => service.close());

async function transfer(amount: number): Promise<void> {
  const accounts = { fromAccountId: await service.api.openAccount(100), toAccountId: await service.api.openAccount(0) };
  await service.api.post('/v1/transfers', { ...accounts, amount }, { key: randomUUID() });
}

const outboxIsEmpty = () =>
  eventually(async () => expect(await service.db.selectFrom('outbox').selectAll().execute()).toEqual([]));

it('two groups each get each event that they want once, also when one of them fails at first', async () => {
  failures.set('one', 1);
  await Promise.all(Array.from({ length: 20 }, () => transfer(1)));
  await transfer(1_000);
  await outboxIsEmpty();
  const events = await service.db.selectFrom('events').select(['id', 'type']).execute();
  const completed = events.filter((event) => event.type === 'transfer.completed').map((event) => event.id);
  expect(completed).toHaveLength(20);
  expect(consumed.one.toSorted()).toEqual(completed.toSorted());
  expect(consumed.two.toSorted()).toEqual(events.map((event) => event.id).toSorted());
});

it('the same event put twice into the outbox is consumed once', async () => {
  const before = consumed.two.length;
  const [eventId] = consumed.two;
  await sql`
    insert into outbox (id, queue, name, job_id, data, next_attempt_at, stays)
    select n.id, 'notifications', 'two', 'again-' || n.id, jsonb_build_object('eventId', ${eventId}::text, 'outboxId', n.id), now(), true
    from (select gen_random_uuid() as id from generate_series(1, 5)) n`.execute(service.db);
  await outboxIsEmpty();
  expect(consumed.two).toHaveLength(before);
});

it('an event whose job Redis lost is brought again', async () => {
  const before = consumed.one.length;
  failures.set('one', Number.MAX_SAFE_INTEGER);
  await transfer(1);
  const connection = new Redis(service.environment.REDIS_URL ?? '', { maxRetriesPerRequest: null });
  const queue = new Queue('notifications', { connection, prefix: `{${service.environment.REDIS_PREFIX}}` });
  // It failed and waits for its next try, in Redis alone. There it is lost.
  await eventually(async () => {
    const [job] = await queue.getDelayed();
    if (!job?.id) throw new Error('no job waits yet');
    expect(await queue.remove(job.id)).toBe(1);
  });
  failures.clear();
  // The relay comes back to it after its pause, which is over here.
  await service.db
    .updateTable('outbox')
    .set({ next_attempt_at: new Date(0) })
    .execute();
  await outboxIsEmpty();
  expect(consumed.one).toHaveLength(before + 1);
  await queue.close();
  connection.disconnect();
});
