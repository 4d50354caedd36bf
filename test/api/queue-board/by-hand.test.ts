import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { defineOperation, printableKey } from '../../../src/processors/define-operation.ts';
import { operations } from '../../../src/processors/registry.ts';
import type { Consumer } from '../../../src/queues/notification-worker.ts';
import { type HousekeepingFixture, openFixture } from '../../queues/housekeeping/fixture.ts';
import { type SmtpSink, startSmtpSink } from '../../store/mail/smtp-sink.ts';
import { askBoard, testAdminPassword } from '../../support/admin.ts';
import { eventually } from '../../support/eventually.ts';
import { judge } from '../../support/judge.ts';
import { csvOf, mailingWith, newMailing } from '../../support/mailings.ts';
import { startServiceOn, startTestService, type TestService } from '../../support/service.ts';

/** The API alone. Workers are started by the tests, so that a job can be removed before one takes it. */
let service: TestService;
let fixture: HousekeepingFixture;
let sink: SmtpSink;
const consumed: string[] = [];
let refusals = 0;

const failing = defineOperation({
  name: 'test.fail',
  request: z.strictObject({}),
  key: { required: true, pattern: printableKey },
  onMismatch: 'reject',
  replay: 'stored',
  process: async () => {
    throw new Error('never');
  },
});

const consumer: Consumer = {
  group: 'by-hand',
  consume: async (event) => {
    if (refusals > 0) {
      refusals -= 1;
      throw new Error('not yet');
    }
    consumed.push(event.id);
  },
};

beforeAll(async () => {
  sink = await startSmtpSink();
  service = await startTestService({
    role: 'api',
    operations: [...operations, failing],
    environment: {
      SEMEL_ADMIN_PASSWORD: testAdminPassword,
      MAIL_URL: `${sink.url}?ignoreTLS=true`,
      RETRY_DELAYS_MS: 'none',
      PUBLIC_URL: 'http://mail.example',
    },
  });
  fixture = await openFixture(service);
  await sql`insert into consumer_groups values ('by-hand', '{transfer.completed}')`.execute(service.db);
});

afterAll(async () => {
  await fixture.close();
  await service.close();
  await sink.close();
});

async function withWorker<T>(work: () => Promise<T>): Promise<T> {
  const worker = await startServiceOn(service, {
    role: 'worker',
    operations: [...operations, failing],
    consumers: [consumer],
  });
  try {
    return await work();
  } finally {
    await worker.close();
  }
}

const act = async (queue: string, jobId: string, action: 'retry' | 'clean') => {
  const answer = await askBoard(service.api, 'PUT', `/queues/${queue}/${encodeURIComponent(jobId)}/${action}`);
  expect(answer.status, answer.text).toBe(204);
};
const jobOf = async (queue: string, jobId: string) => await fixture.queues.get(queue).getJob(jobId);

/** Retries a job that has ended, and waits until it has ended again. */
async function retryToTheEnd(queue: string, jobId: string): Promise<void> {
  const before = (await jobOf(queue, jobId))?.finishedOn;
  expect(before).toBeDefined();
  await act(queue, jobId, 'retry');
  await eventually(async () => {
    const after = (await jobOf(queue, jobId))?.finishedOn;
    expect(after).toBeDefined();
    expect(after).not.toBe(before);
  });
}

const readAll = async () => ({
  records: await service.db.selectFrom('records').selectAll().orderBy('id').execute(),
  audit: await service.db.selectFrom('audit').selectAll().orderBy('record_id').orderBy('seq').execute(),
  movements: await service.db.selectFrom('movements').selectAll().orderBy('id').execute(),
  events: await service.db.selectFrom('events').selectAll().orderBy('id').execute(),
  deadLetters: await service.db.selectFrom('dead_letters').selectAll().orderBy('id').execute(),
});

it('a job that is retried after its record is final does nothing', async () => {
  await withWorker(async () => {
    const accounts = {
      fromAccountId: await service.api.openAccount(10),
      toAccountId: await service.api.openAccount(0),
    };
    const [done, refused, failed] = [randomUUID(), randomUUID(), randomUUID()];
    await service.api.post('/v1/transfers', { ...accounts, amount: 3 }, { key: done });
    await service.api.post('/v1/transfers', { ...accounts, amount: 99 }, { key: refused });
    await service.api.post('/v1/operations/test.fail', {}, { key: failed });
    const jobs = [
      `transfer.create~default~${done}`,
      `transfer.create~default~${refused}`,
      `test.fail~default~${failed}`,
    ];
    for (const jobId of jobs) {
      await eventually(async () => expect((await jobOf('operations', jobId))?.finishedOn).toBeDefined());
    }
    await eventually(async () => {
      expect(await service.db.selectFrom('outbox').select('id').execute()).toEqual([]);
    });
    const before = await readAll();
    expect(before.records.map((record) => record.status).sort()).toEqual(
      ['FAILED', 'REJECTED', 'SUCCEEDED', 'SUCCEEDED', 'SUCCEEDED'].sort(),
    );
    for (const jobId of jobs) await retryToTheEnd('operations', jobId);
    expect(await readAll()).toEqual(before);
    await judge(service.db);
  });
});

it('a job of an operation that is removed comes back, and the operation ends once', async () => {
  const [key, openingBalance] = [randomUUID(), 7];
  const answer = await service.api.post(
    '/v1/accounts',
    { owner: 'Ada', currency: 'EUR', openingBalance },
    { key, headers: { prefer: 'respond-async' } },
  );
  const jobId = `account.open~default~${key}`;
  await act('operations', jobId, 'clean');
  expect(await jobOf('operations', jobId)).toBeUndefined();
  await withWorker(async () => {
    await eventually(
      async () => {
        const { body } = await service.api.get(`/v1/operations/${answer.body.id}`);
        expect(body).toMatchObject({ status: 'SUCCEEDED', attempts: 1 });
      },
      { timeoutMs: 30_000 },
    );
  });
  expect(await service.api.balanceOf(answer.body.id)).toBe(openingBalance);
  await judge(service.db);
});

it('an event that is removed before it is consumed comes back, and one that is retried is not consumed again', async () => {
  await withWorker(async () => {
    const accounts = {
      fromAccountId: await service.api.openAccount(10),
      toAccountId: await service.api.openAccount(0),
    };
    refusals = 1;
    const { body } = await service.api.post('/v1/transfers', { ...accounts, amount: 1 }, { key: randomUUID() });
    const eventId = `${body.id}.1.1`;
    const jobId = `${eventId}~by-hand`;
    // Put off after its first try: in nobody's hands.
    await eventually(async () => expect(await (await jobOf('notifications', jobId))?.getState()).toBe('delayed'));
    await act('notifications', jobId, 'clean');
    await eventually(() => expect(consumed.filter((id) => id === eventId)).toHaveLength(1), { timeoutMs: 45_000 });
    await eventually(async () => expect((await jobOf('notifications', jobId))?.finishedOn).toBeDefined());
    await retryToTheEnd('notifications', jobId);
    expect(consumed.filter((id) => id === eventId)).toHaveLength(1);
  });
});

it('a file or a batch that is removed comes back, and a batch that is retried sends nothing again', async () => {
  const id = await newMailing(service.api, csvOf(20));
  const [ingest] = await fixture.queues.get('mailings').getWaiting();
  expect(ingest?.id).toMatch(`ingest~${id}~`);
  await act('mailings', ingest?.id ?? '', 'clean');
  await withWorker(async () => {
    await mailingWith(service.api, id, 'COMPLETED', 45_000);
    const finished = await fixture.queues.get('mailings').getCompleted();
    expect(finished.map((job) => job.name).sort()).toEqual(['ingest', 'send']);
    for (const job of finished) await retryToTheEnd('mailings', job.id ?? '');
  });
  expect(sink.mails).toHaveLength(20);
  const mailing = await service.api.get(`/v1/mailings/${id}`);
  expect(mailing.body).toMatchObject({ status: 'COMPLETED', totals: { sent: 20, entries: 20 } });
});
