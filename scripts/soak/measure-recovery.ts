import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { testApiKey } from '../../test/support/api.ts';
import type { Lab } from '../../test/support/lab/lab.ts';
import type { ServiceProcess } from '../../test/support/service-process.ts';

export interface Recovery {
  what: string;
  target: string;
  seconds: number[];
}

const times = 5;
const pollMs = 20;

/** How long recoveries take with the default times. Measured and told, not asserted: a busy machine is slower. */
export async function measureRecovery(lab: Lab, say: (line: string) => void): Promise<Recovery[]> {
  await lab.prepare({ apis: 1, workers: 2 });
  const recoveries: Recovery[] = [
    { what: 'a worker is killed: its work runs elsewhere', target: '10 s', seconds: [] },
    { what: 'Redis is back: the queue moves', target: '5 s', seconds: [] },
    { what: 'Postgres is back: a 2xx', target: '3 s', seconds: [] },
  ];
  const measures = [takeOver, redisBack, postgresBack];
  for (const [index, measure] of measures.entries()) {
    for (let time = 1; time <= times; time += 1) {
      const seconds = (await measure(lab)) / 1_000;
      recoveries[index]?.seconds.push(seconds);
      say(`${recoveries[index]?.what}: ${seconds.toFixed(1)} s`);
    }
  }
  return recoveries;
}

/** From the death of the worker that has the job in its hands to the end of the job elsewhere. */
async function takeOver(lab: Lab): Promise<number> {
  const [api] = lab.running('api');
  // Only the doomed one listens when the job comes, so that it is the one who gets it.
  const sound = lab.running('worker');
  for (const worker of sound) worker.signal('SIGSTOP');
  const doomed = await lab.start('worker', { failpoints: 'run.before-commit=stop@1' });
  const recordId = await openAccountAsync(api);
  await lab.untilStopped(doomed);
  for (const worker of sound) worker.signal('SIGCONT');
  const startedMs = performance.now();
  await doomed.kill();
  await until(async () => {
    const { rows } = await lab.db.query('select 1 from records where id = $1 and settled_at is not null', [recordId]);
    return rows.length > 0;
  });
  return performance.now() - startedMs;
}

async function redisBack(lab: Lab): Promise<number> {
  const [api] = lab.running('api');
  await lab.parts.redis.kill();
  await pause(3_000);
  await lab.parts.redis.start();
  const startedMs = performance.now();
  await until(async () => (await openAccount(api)) === 201);
  return performance.now() - startedMs;
}

async function postgresBack(lab: Lab): Promise<number> {
  const [api] = lab.running('api');
  await lab.parts.postgres?.kill();
  await pause(3_000);
  await lab.parts.postgres?.start();
  const startedMs = performance.now();
  await until(async () => (await openAccount(api)) < 300);
  return performance.now() - startedMs;
}

async function openAccount(service: ServiceProcess | undefined): Promise<number> {
  return (await postAccount(service, 'wait=1')).status;
}

async function openAccountAsync(service: ServiceProcess | undefined): Promise<string> {
  return (await postAccount(service, 'respond-async')).headers.get('operation-id') ?? '';
}

async function postAccount(service: ServiceProcess | undefined, prefer: string): Promise<Response> {
  const headers = {
    authorization: `Bearer ${testApiKey}`,
    'content-type': 'application/json',
    'idempotency-key': randomUUID(),
    prefer,
  };
  const body = JSON.stringify({ owner: 'Ada', currency: 'EUR' });
  return await fetch(`${service?.api.url}/v1/accounts`, { method: 'POST', headers, body });
}

async function until(check: () => Promise<boolean>): Promise<void> {
  while (!(await check().catch(() => false))) await pause(pollMs);
}

export function renderRecovery(recoveries: readonly Recovery[]): string {
  const rows = recoveries.map(({ what, target, seconds }) => {
    const sorted = seconds.toSorted((a, b) => a - b);
    const [min, median, max] = [sorted[0], sorted[Math.floor(sorted.length / 2)], sorted.at(-1)];
    return `| ${what} | ${target} | ${[min, median, max].map((value) => `${value?.toFixed(1)} s`).join(' | ')} |`;
  });
  return ['| what | target | fastest | median | slowest |', '| --- | --- | --- | --- | --- |', ...rows].join('\n');
}
