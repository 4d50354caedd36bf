import { Worker } from 'bullmq';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { putOffJob } from '../../src/queues/put-off-job.ts';
import { Queues } from '../../src/queues/queues.ts';
import { openRedis, type RedisClient } from '../../src/store/redis.ts';
import { eventually } from '../support/eventually.ts';
import { testRedisPrefix, testRedisUrl } from '../support/stores.ts';

const hourMs = 3_600_000;
const now = Date.now.bind(Date);

let prefix: string;
let redis: RedisClient;
let queues: Queues;
const ran: string[] = [];

beforeEach(async () => {
  const config = readConfig({ DATABASE_URL: 'postgres://localhost/semel', REDIS_URL: testRedisUrl() });
  prefix = `{${testRedisPrefix()}}`;
  redis = openRedis(config, 'worker', () => undefined);
  queues = new Queues(redis, prefix, () => undefined);
  ran.length = 0;
});

afterEach(async () => {
  await queues.close();
  redis.disconnect();
});

function openWorker(name: string, handle: (worker: Worker) => (job: { id?: string | undefined }) => Promise<void>) {
  const worker: Worker = new Worker(name, async (job) => await handle(worker)(job), {
    connection: redis,
    prefix,
    autorun: false,
  });
  worker.on('error', () => undefined);
  return worker;
}

/** What a process does whose clock is an hour ahead. */
async function anHourAhead<T>(work: () => Promise<T>): Promise<T> {
  const clock = vi.spyOn(Date, 'now').mockImplementation(() => now() + hourMs);
  try {
    return await work();
  } finally {
    clock.mockRestore();
  }
}

const runSoundWorker = async (name: string) => {
  const sound = openWorker(name, () => async (job) => void ran.push(job.id ?? ''));
  void sound.run();
  await eventually(() => expect(ran).toEqual(['job-1']));
  await sound.close();
};

it('a job that is put off by a process whose clock is an hour ahead is due for the others when its pause is over', async () => {
  await queues.add('test', [{ name: 'test', jobId: 'job-1', data: {} }]);
  const ahead = openWorker('test', () => async () => undefined);
  const job = await ahead.getNextJob('token');
  const putOff = () =>
    putOffJob({ worker: ahead, redis }, job as NonNullable<typeof job>, { delayMs: 50, token: 'token' });
  await expect(anHourAhead(putOff)).rejects.toThrow();
  expect(await queues.get('test').getDelayedCount()).toBe(1);
  await ahead.close();
  await runSoundWorker('test');
});

it('a job that such a process adds with a pause is due when the pause is over', async () => {
  await anHourAhead(() => queues.add('test', [{ name: 'test', jobId: 'job-1', data: {}, delayMs: 50 }]));
  await runSoundWorker('test');
});
