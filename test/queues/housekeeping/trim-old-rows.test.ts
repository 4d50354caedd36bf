import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { trimOldRows } from '../../../src/queues/housekeeping/trim-old-rows.ts';
import { type HousekeepingFixture, openFixture } from './fixture.ts';

let fixture: HousekeepingFixture;

beforeAll(async () => {
  fixture = await openFixture();
});

afterAll(() => fixture.close());

const trim = () => trimOldRows(fixture, new AbortController().signal);
const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000);
/** An id as it would have been made then. */
const idOf = (time: Date) => uuidv7({ msecs: time.getTime() });

async function addEvent(time: Date): Promise<string> {
  const recordId = idOf(time);
  const id = `${recordId}.1.1`;
  await sql`
    insert into events (id, type, client, record_id, data, created_at)
    values (${id}, 'transfer.completed', 'default', ${recordId}, '{}', ${time})`.execute(fixture.db);
  return id;
}

it('events go after thirty days, unless a consumer is not done with them', async () => {
  const [old, young, waiting] = [await addEvent(daysAgo(31)), await addEvent(daysAgo(29)), await addEvent(daysAgo(40))];
  await sql`
    insert into outbox (id, queue, name, job_id, data, next_attempt_at, stays)
    values (gen_random_uuid(), 'notifications', 'webhooks', 'x', ${JSON.stringify({ eventId: waiting })}, now(), true)`.execute(
    fixture.db,
  );
  expect(await trim()).toMatchObject({ events: 1 });
  const left = await fixture.db.selectFrom('events').select('id').orderBy('id').execute();
  expect(left.map((event) => event.id)).toEqual([waiting, young].sort());
  expect(left.map((event) => event.id)).not.toContain(old);
});

it('thousands of old events go in batches', async () => {
  await sql`
    insert into events (id, type, client, record_id, data, created_at)
    select '01000000-0000-7000-8000-' || lpad(n::text, 12, '0') || '.1.1', 'transfer.completed', 'default',
      gen_random_uuid(), '{}', now() - interval '1 year'
    from generate_series(1, 1700) n`.execute(fixture.db);
  expect(await trim()).toMatchObject({ events: 1_700 });
  expect(await trim()).toMatchObject({ events: 0 });
});

it('deliveries and alerts go with their event, those that are not ended never', async () => {
  const [webhookId, event] = [randomUUID(), await addEvent(daysAgo(5))];
  await sql`insert into webhooks (id, client, url, events) values (${webhookId}, 'default', 'https://hooks.example', '{}')`.execute(
    fixture.db,
  );
  const deliver = async (time: Date, eventId: string, status: string) => {
    const id = idOf(time);
    await sql`
      insert into webhook_deliveries (id, webhook_id, event_id, type, body, status, next_attempt_at, created_at, delivered_at)
      values (${id}, ${webhookId}, ${eventId}, 't', '{}', ${status}, case when ${status} = 'PENDING' then now() end,
        ${time}, case when ${status} = 'DELIVERED' then now() end)`.execute(fixture.db);
    return id;
  };
  await deliver(daysAgo(31), 'gone-1', 'DELIVERED');
  await deliver(daysAgo(31), 'gone-2', 'FAILED');
  const kept = [
    await deliver(daysAgo(31), 'gone-3', 'PENDING'),
    await deliver(daysAgo(31), event, 'DELIVERED'),
    await deliver(daysAgo(29), 'gone-4', 'DELIVERED'),
  ];
  const alert = async (eventId: string, status: string, days: number) =>
    await sql`
      insert into alerts (event_id, client, record_id, operation, code, status, message_id, next_attempt_at, sent_at)
      values (${eventId}, 'default', gen_random_uuid(), 'o', 'c', ${status}, 'm', now(),
        case when ${status} = 'SENT' then ${daysAgo(days)}::timestamptz end)`.execute(fixture.db);
  await alert('told', 'SENT', 31);
  await alert('told-lately', 'SENT', 29);
  await alert('untold', 'PENDING', 99);
  await alert(event, 'SENT', 31);
  expect(await trim()).toMatchObject({ deliveries: 2, alerts: 1 });
  const deliveries = await fixture.db.selectFrom('webhook_deliveries').select('id').execute();
  expect(deliveries.map((row) => row.id).sort()).toEqual(kept.sort());
  const alerts = await fixture.db.selectFrom('alerts').select('event_id').execute();
  expect(alerts.map((row) => row.event_id).sort()).toEqual(['told-lately', 'untold', event].sort());
});

it('what was consumed is forgotten when its time is up', async () => {
  await sql`
    insert into dedup (namespace, message_id, state, token, result, expires_at)
    select 'g', 'm' || n, 'DONE', gen_random_uuid(), '1', now() + make_interval(hours => n)
    from generate_series(-600, 10) n where n <> 0`.execute(fixture.db);
  expect(await trim()).toMatchObject({ dedup: 600 });
  expect(await fixture.db.selectFrom('dedup').select('message_id').execute()).toHaveLength(10);
});

it('outbox rows that were set aside go after ninety days, unless an operation or a mailing waits for them', async () => {
  await fixture.db.deleteFrom('outbox').execute();
  const [waiting, settled] = [randomUUID(), randomUUID()];
  await sql`
    insert into records (id, client, sub_client, operation, fingerprint, request, status, settled_at) values
      (${waiting}, 'default', '', 'o', 'f', '{}', 'QUEUED', null),
      (${settled}, 'default', '', 'o', 'f', '{}', 'REJECTED', now())`.execute(fixture.db);
  const setAside = async (queue: string, data: Record<string, string>, days: number | null) =>
    await sql`
      insert into outbox (id, queue, name, job_id, data, next_attempt_at, quarantined_at)
      values (gen_random_uuid(), ${queue}, 'n', ${JSON.stringify(data)}, ${JSON.stringify(data)}, now(),
        ${days === null ? null : daysAgo(days)}::timestamptz)`.execute(fixture.db);
  await setAside('operations', { recordId: waiting }, 91);
  await setAside('operations', { recordId: settled }, 91);
  await setAside('operations', { recordId: randomUUID() }, 91);
  await setAside('operations', { recordId: settled, why: 'young' }, 89);
  await setAside('notifications', { eventId: 'e' }, 91);
  await setAside('mailings', { mailingId: randomUUID() }, 91);
  await setAside('operations', { recordId: settled, why: 'not set aside' }, null);
  expect(await trim()).toMatchObject({ quarantined: 4 });
  const left = await fixture.db.selectFrom('outbox').select('data').execute();
  expect(left.map((row) => row.data)).toHaveLength(3);
  expect(left.map((row) => row.data)).toContainEqual({ recordId: waiting });
});

it('dead letters go after ninety days, each with its job', async () => {
  const add = async (key: string, days: number) => {
    const recordId = randomUUID();
    await sql`
      insert into dead_letters (id, record_id, client, sub_client, operation, key, generation, attempts, error, created_at)
      values (gen_random_uuid(), ${recordId}, 'default', '', 'account.open', ${key}, 2, 3, '{}', ${daysAgo(days)})`.execute(
      fixture.db,
    );
    await fixture.queues.add('dead-letters', [
      { name: 'account.open', jobId: `account.open~default~${key}~2`, data: { recordId } },
    ]);
  };
  await add('old', 91);
  await add('young', 89);
  expect(await trim()).toMatchObject({ deadLetters: 1 });
  expect(await fixture.db.selectFrom('dead_letters').select('key').execute()).toEqual([{ key: 'young' }]);
  const jobs = await fixture.queues.get('dead-letters').getWaiting();
  expect(jobs.map((job) => job.id)).toEqual(['account.open~default~young~2']);
});
