import { pino } from 'pino';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { readConfig } from '../../../src/config.ts';
import { type HousekeepingRun, startHousekeepingWorker } from '../../../src/queues/housekeeping/housekeeping-worker.ts';
import { ensureSchedules, housekeepingQueue } from '../../../src/queues/housekeeping/schedules.ts';
import type { HousekeepingTask } from '../../../src/queues/housekeeping/tasks.ts';
import { Locks } from '../../../src/store/locks.ts';
import { openRedis } from '../../../src/store/redis.ts';
import { eventually } from '../../support/eventually.ts';
import { startServiceOn } from '../../support/service.ts';
import { type HousekeepingFixture, openFixture } from './fixture.ts';

let fixture: HousekeepingFixture;

beforeAll(async () => {
  fixture = await openFixture();
});

afterAll(() => fixture.close());

const task = (name: string, everyMs: number, run: HousekeepingTask['run'] = async () => ({})): HousekeepingTask => ({
  name,
  everyMs,
  run,
});
const queue = () => fixture.queues.get(housekeepingQueue);
const forget = async () => await queue().obliterate({ force: true });

it('any number of processes make one schedule for each task, and leave it alone afterwards', async () => {
  await forget();
  const tasks = [task('often', 60_000), task('rarely', 3_600_000)];
  await Promise.all([1, 2, 3].map(() => ensureSchedules(queue(), tasks)));
  expect(await queue().getJobSchedulersCount()).toBe(2);
  // The first run is due at once, and there is one of each.
  expect(await queue().getJobCountByTypes('waiting', 'delayed')).toBe(2);
  const before = await queue().getJobSchedulers();
  expect(await ensureSchedules(queue(), tasks)).toEqual([]);
  expect(await queue().getJobSchedulers()).toEqual(before);
});

it('a schedule that Redis lost, one whose next run got lost and one with another pause are made again', async () => {
  await forget();
  const tasks = [task('lost', 60_000), task('unarmed', 60_000), task('other-pause', 60_000), task('fine', 60_000)];
  await ensureSchedules(queue(), tasks);
  await queue().removeJobScheduler('lost');
  const unarmed = await queue().getJobScheduler('unarmed');
  const [jobId] = [`repeat:unarmed:${unarmed?.next}`];
  expect(await queue().getJob(jobId)).toBeDefined();
  // As nothing of BullMQ's would do it: half a loss.
  await fixture.redis.del(queue().toKey(jobId));
  const changed = tasks.map((known) => (known.name === 'other-pause' ? task(known.name, 120_000) : known));
  expect(await ensureSchedules(queue(), changed)).toEqual(['lost', 'unarmed', 'other-pause']);
  expect(await ensureSchedules(queue(), changed)).toEqual([]);
  await forget();
  expect(await ensureSchedules(queue(), changed)).toHaveLength(4);
});

it('a schedule that was made by a process whose clock is an hour ahead is made again', async () => {
  await forget();
  const tasks = [task('often', 60_000)];
  const now = Date.now.bind(Date);
  const clock = vi.spyOn(Date, 'now').mockImplementation(() => now() + 3_600_000);
  try {
    expect(await ensureSchedules(queue(), tasks)).toEqual(['often']);
    expect(await ensureSchedules(queue(), tasks)).toEqual([]);
  } finally {
    clock.mockRestore();
  }
  expect(await ensureSchedules(queue(), tasks)).toEqual(['often']);
  expect((await queue().getJobScheduler('often'))?.next).toBeLessThanOrEqual(now() + 60_000);
  expect(await ensureSchedules(queue(), tasks)).toEqual([]);
});

it('a task runs again and again, tells what it did, and a failure does not end it', async () => {
  await forget();
  const runs: HousekeepingRun[] = [];
  let calls = 0;
  const flaky = task('flaky', 100, async () => {
    calls += 1;
    if (calls === 2) throw new Error('not this time');
    return { deleted: calls };
  });
  const worker = startWorker([flaky], (run) => runs.push(run));
  await ensureSchedules(queue(), [flaky]);
  await eventually(() => expect(runs.length).toBeGreaterThanOrEqual(3));
  expect(runs[0]).toMatchObject({ task: 'flaky', counts: { deleted: 1 } });
  expect(runs[1]).toMatchObject({ task: 'flaky', counts: {}, error: new Error('not this time') });
  expect(runs[2]).toMatchObject({ task: 'flaky', counts: { deleted: 3 } });
  await worker.close();
});

it('a run that outlasts its pause is not joined by the next one', async () => {
  await forget();
  let [atOnce, most, release] = [0, 0, () => undefined as unknown];
  const released = new Promise((resolve) => {
    release = () => resolve(undefined);
  });
  const slow = task('slow', 50, async () => {
    atOnce += 1;
    most = Math.max(most, atOnce);
    await released;
    atOnce -= 1;
    return { deleted: 1 };
  });
  const workers = [startWorker([slow]), startWorker([slow])];
  await ensureSchedules(queue(), [slow]);
  await eventually(async () => {
    const finished = await queue().getCompleted();
    expect(finished.filter((job) => job.returnvalue === 'under way already').length).toBeGreaterThan(2);
  });
  expect(most).toBe(1);
  release();
  await Promise.all(workers.map((worker) => worker.close()));
});

it('two workers share one set of schedules, and run each task', async () => {
  await forget();
  const services = await Promise.all([1, 2].map(() => startServiceOn(fixture, { role: 'worker' })));
  await eventually(async () => {
    expect(await queue().getJobSchedulersCount()).toBe(5);
    const ran = new Set((await queue().getCompleted()).map((job) => job.name));
    expect([...ran].sort()).toEqual(['audit-partitions', 'expired-records', 'files', 'old-rows', 'stuck-records']);
  });
  expect(await queue().getFailedCount()).toBe(0);
  await Promise.all(services.map((service) => service.close()));
});

function startWorker(tasks: HousekeepingTask[], onRun: (run: HousekeepingRun) => void = () => undefined) {
  const connection = openRedis(readConfig(fixture.environment), 'worker', () => undefined);
  const stopping = new AbortController();
  const worker = startHousekeepingWorker({
    tasks,
    connection,
    prefix: fixture.prefix,
    locks: new Locks(fixture.redis, fixture.prefix, 8_000),
    lockDurationMs: 8_000,
    stopping: stopping.signal,
    onRun,
    log: pino({ level: 'silent' }),
  });
  return {
    close: async () => {
      stopping.abort();
      await worker.close();
      connection.disconnect();
    },
  };
}
