import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { checkInvariants } from '../../src/queues/check-invariants.ts';
import { Queues } from '../../src/queues/queues.ts';
import { beginRounds, listFaults, readInvariants } from '../../src/store/invariants.ts';
import { addToOutbox } from '../../src/store/outbox.ts';
import { hashTagOf, openRedis, type RedisClient } from '../../src/store/redis.ts';
import { eventually } from '../support/eventually.ts';
import { judge } from '../support/judge.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
let redis: RedisClient;
let queues: Queues;

beforeAll(async () => {
  service = await startTestService({ environment: { WAIT_SECONDS: '30' } });
  redis = openRedis(readConfig(service.environment), 'caller', () => undefined);
  queues = new Queues(redis, hashTagOf(service.environment.REDIS_PREFIX ?? ''), () => undefined);
  await eventually(() => expect(redis.status).toBe('ready'));
});

afterAll(async () => {
  await queues.close();
  redis.disconnect();
  await service.close();
});

const parts = () => ({ db: service.db, queues, redis, log: pino({ level: 'silent' }) });

/** A round at once, whenever the last one was, and what is known then. */
const check = async () => {
  await checkInvariants(parts(), 0);
  const known = await readInvariants(service.db);
  return Object.fromEntries(known.map(({ name, violations }) => [name, violations]));
};

describe('the ledger', () => {
  let from: string;
  let to: string;

  const transfer = async (amount: number) => {
    const body = { fromAccountId: from, toAccountId: to, amount };
    const answer = await service.api.post('/v1/transfers', body, { key: randomUUID() });
    expect(answer.status).toBe(201);
    return answer.body.id as string;
  };

  beforeEach(async () => {
    from = await service.api.openAccount(1_000);
    to = await service.api.openAccount(0);
    for (let time = 0; time < 3; time += 1) await transfer(10);
    expect((await check()).ledger_imbalance).toBe(0);
  });

  const subjects = async () => (await listFaults(service.db, { limit: 100 })).map(({ subject }) => subject);

  it.each([
    {
      name: 'a balance that no movement explains',
      plant: () => sql`update accounts set balance = balance + 1 where id = ${to}::uuid`,
      mend: () => sql`update accounts set balance = balance - 1 where id = ${to}::uuid`,
    },
    {
      name: 'a movement without its other side',
      plant: () => sql`
        with moved as (update accounts set balance = balance + 5 where id = ${to}::uuid returning id, balance)
        insert into movements (account_id, operation_id, kind, amount, balance_after)
        select id, id, 'transfer', 5, balance from moved`,
      mend: () => sql`
        with gone as (delete from movements where operation_id = ${to}::uuid and kind = 'transfer' returning amount)
        update accounts set balance = balance - (select sum(amount) from gone) where id = ${to}::uuid`,
    },
    {
      name: 'two sides in two currencies',
      plant: () => sql`update accounts set currency = 'USD' where id = ${to}::uuid`,
      mend: () => sql`update accounts set currency = 'EUR' where id = ${to}::uuid`,
    },
    {
      name: 'a movement that was changed afterwards',
      plant: () => sql`update movements set amount = amount + 1 where account_id = ${from}::uuid and amount < 0`,
      mend: () => sql`update movements set amount = amount - 1 where account_id = ${from}::uuid and amount < 0`,
    },
    {
      name: 'a balance before that was changed afterwards',
      plant: () => sql`update movements set balance_after = balance_after + 1 where id = (
        select min(id) from movements where account_id = ${to}::uuid)`,
      mend: () => sql`update movements set balance_after = balance_after - 1 where id = (
        select min(id) from movements where account_id = ${to}::uuid)`,
    },
  ])('$name is counted until it is mended', async ({ plant, mend }) => {
    await plant().execute(service.db);
    expect((await check()).ledger_imbalance).toBeGreaterThan(0);
    // It is known from then on, also when the rounds have moved on.
    for (let round = 0; round < 3; round += 1) await check();
    expect((await check()).ledger_imbalance).toBeGreaterThan(0);
    await mend().execute(service.db);
    expect((await check()).ledger_imbalance).toBe(0);
    await judge(service.db);
  });

  it('a deleted movement, and a whole transfer that was deleted, are found', async () => {
    await sql`delete from movements where id = (select max(id) from movements where account_id = ${to}::uuid)`.execute(
      service.db,
    );
    await check();
    expect(await subjects()).toContain(`account:${to}`);
    await sql`update accounts set balance = (
      select balance_after from movements where account_id = accounts.id order by id desc limit 1)
      where id = ${to}::uuid`.execute(service.db);
    await check();
    expect((await subjects()).map((subject) => subject.split(':')[0])).toEqual(['operation']);
    await sql`
      insert into movements (account_id, operation_id, kind, amount, balance_after)
      select ${to}::uuid, operation_id, 'transfer', 10, 30 from movements m where account_id = ${from}::uuid
        and amount < 0 and not exists (
          select from movements o where o.operation_id = m.operation_id and o.account_id = ${to}::uuid)`.execute(
      service.db,
    );
    await sql`update accounts set balance = 30 where id = ${to}::uuid`.execute(service.db);
    expect((await check()).ledger_imbalance).toBe(0);
  });

  it('what is old is found as well, however much has been written since', async () => {
    // As if the rounds had passed by it long ago.
    await sql`
      update invariants set state = jsonb_build_object('before', m.id, 'seen', m.id, 'walked', 0)
      from (select max(id) as id from movements) m where name = 'ledger_imbalance'`.execute(service.db);
    await sql`update movements set amount = amount + 1 where id = (select min(id) from movements)`.execute(service.db);
    expect((await check()).ledger_imbalance).toBeGreaterThan(0);
    await sql`update movements set amount = amount - 1 where id = (select min(id) from movements)`.execute(service.db);
    expect((await check()).ledger_imbalance).toBe(0);
  });

  it('a movement that commits late, under an id that was passed already, is still looked at', async () => {
    const lateDb = service.db;
    await lateDb.transaction().execute(async (tx) => {
      await sql`
        insert into movements (account_id, operation_id, kind, amount, balance_after)
        select id, id, 'transfer', 7, null from accounts where kind = 'system' limit 1`.execute(tx);
      await transfer(1);
      expect((await check()).ledger_imbalance).toBe(0);
    });
    expect((await check()).ledger_imbalance).toBe(1);
    await sql`delete from movements where amount = 7 and balance_after is null`.execute(service.db);
    expect((await check()).ledger_imbalance).toBe(0);
  });

  it('money that moves while it is checked is never taken for a fault', async () => {
    const moving = Promise.all(Array.from({ length: 60 }, () => transfer(1)));
    for (let round = 0; round < 10; round += 1) expect((await check()).ledger_imbalance).toBe(0);
    await moving;
    expect((await check()).ledger_imbalance).toBe(0);
  });
});

describe('unfinished records', () => {
  it('one without a job is counted, and no more once it has one', async () => {
    // Without a worker, whose reconciler would put it back at once.
    const api = await startTestService({ role: 'api' });
    const key = `planted-${randomUUID()}`;
    const theirs = new Queues(redis, hashTagOf(api.environment.REDIS_PREFIX ?? ''), () => undefined);
    const violations = async () => {
      await checkInvariants({ ...parts(), db: api.db, queues: theirs }, 0);
      const known = await readInvariants(api.db);
      return known.find(({ name }) => name === 'unfinished_without_job')?.violations;
    };
    try {
      const waits = await api.api.post('/v1/accounts', { owner: 'Ada', currency: 'EUR' }, { key: randomUUID() });
      expect(waits.status).toBe(202);
      await plantRecord(api, key);
      await sql`update records set updated_at = now() - interval '1 hour'`.execute(api.db);
      expect(await violations()).toBe(1);

      const jobId = `account.open~default~${key}`;
      await api.db.transaction().execute(async (tx) => {
        await addToOutbox(tx, { queue: 'operations', name: 'account.open', jobId, data: {}, delayMs: 3_600_000 });
      });
      expect(await violations()).toBe(0);
      await sql`delete from outbox where job_id = ${jobId}`.execute(api.db);
      expect(await violations()).toBe(1);
      await theirs.add('operations', [{ name: 'account.open', jobId, data: {} }]);
      expect(await violations()).toBe(0);
    } finally {
      await theirs.close();
      await api.close();
    }
  });

  it('nobody is reassured while Redis is away: the check fails and its age grows', async () => {
    const api = await startTestService({ role: 'api' });
    const away = openRedis(
      { ...readConfig(api.environment), REDIS_URL: 'redis://127.0.0.1:1' },
      'caller',
      () => undefined,
    );
    try {
      await plantRecord(api, `planted-${randomUUID()}`);
      await checkInvariants({ ...parts(), db: api.db, redis: away }, 0);
      const known = await readInvariants(api.db);
      expect(known.find(({ name }) => name === 'unfinished_without_job')?.ageSeconds).toBeNull();
      expect(known.find(({ name }) => name === 'ledger_imbalance')?.ageSeconds).not.toBeNull();
    } finally {
      away.disconnect();
      await api.close();
    }
  });

  async function plantRecord({ db }: TestService, key: string): Promise<void> {
    await sql`
      insert into records (id, client, sub_client, operation, key, fingerprint, request, status, created_at, updated_at)
      values (gen_random_uuid(), 'default', '', 'account.open', ${key}, 'planted', '{}', 'QUEUED',
        now() - interval '1 hour', now() - interval '1 hour')`.execute(db);
  }
});

it('however many processes ask, one does the round, and one that died with it is followed by the next', async () => {
  await checkInvariants(parts(), 0);
  const tries = await Promise.all(Array.from({ length: 5 }, () => beginRounds(service.db, 15_000)));
  expect(tries.flat()).toEqual([]);
  await sql`update invariants set started_at = now() - interval '16 seconds'`.execute(service.db);
  const taken = await Promise.all(Array.from({ length: 5 }, () => beginRounds(service.db, 15_000)));
  expect(taken.flat()).toHaveLength(3);
  await sql`update invariants set started_at = now() - interval '16 seconds'`.execute(service.db);
  expect(await beginRounds(service.db, 15_000)).toHaveLength(3);
});
