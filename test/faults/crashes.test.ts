import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Api } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { allSettled, judge } from '../support/judge.ts';
import { type ServiceProcess, startProcess } from '../support/processes.ts';
import { openTestStores, type TestStores } from '../support/service.ts';

let stores: TestStores;

/** A short lock, so that a takeover does not take the ten seconds that it may take in production. */
beforeEach(async () => {
  stores = await openTestStores({ LOCK_DURATION_MS: '1500', WAIT_SECONDS: '20' });
});

afterEach(() => stores.close());

const start = (role: 'api' | 'worker', failpoints = '') =>
  startProcess(role, { ...stores.environment, SEMEL_FAILPOINTS: failpoints });

async function stopAll(...services: ServiceProcess[]): Promise<void> {
  await Promise.all(services.map((service) => service.stop()));
}

/** Sends transfers of one unit at once. A request that is cut off counts as undefined. */
async function sendTransfers(api: Api, accounts: [string, string], keys: readonly string[]) {
  const [fromAccountId, toAccountId] = accounts;
  const body = { fromAccountId, toAccountId, amount: 1 };
  return await Promise.all(keys.map((key) => api.post('/v1/transfers', body, { key }).catch(() => undefined)));
}

const newKeys = (count: number) => Array.from({ length: count }, () => randomUUID());

describe('an API killed between commit and enqueue', () => {
  it('loses nothing: what it committed runs, and a retry elsewhere gets the same single transfer', async () => {
    const [sound, worker] = await Promise.all([start('api'), start('worker')]);
    const accounts: [string, string] = [await sound.api.openAccount(1_000), await sound.api.openAccount(0)];
    const doomed = await start('api', 'submit.committed=kill');
    const keys = newKeys(20);
    const cut = await sendTransfers(doomed.api, accounts, keys);
    await doomed.exited;
    expect(cut.every((answer) => answer === undefined)).toBe(true);

    const committed = await stores.db
      .selectFrom('records')
      .select('id')
      .where('operation', '=', 'transfer.create')
      .execute();
    expect(committed.length).toBeGreaterThan(0);
    await allSettled(stores.db);
    const retried = await sendTransfers(sound.api, accounts, keys);
    expect(retried.map((answer) => answer?.status)).toEqual(keys.map(() => 201));
    expect(await sound.api.balanceOf(accounts[1])).toBe(keys.length);
    await judge(stores.db);
    await stopAll(sound, worker);
  });
});

describe('a worker killed after its effect is committed and before its job ends', () => {
  it.each(['run.committed=kill@3', 'run.before-job-end=kill@3'])(
    '%s: another one ends the job, and no transfer happens twice',
    async (failpoint) => {
      const [api, sound] = await Promise.all([start('api'), start('worker')]);
      const accounts: [string, string] = [await api.api.openAccount(1_000), await api.api.openAccount(0)];
      const doomed = await start('worker', failpoint);
      const keys = newKeys(60);
      // More waves if the sound worker was quicker and took them all.
      const answers = [];
      let isDead = false;
      doomed.exited.then(() => {
        isDead = true;
      });
      for (let wave = 0; wave < 20 && !isDead; wave += 1)
        answers.push(...(await sendTransfers(api.api, accounts, wave === 0 ? keys : newKeys(60))));
      await doomed.exited;
      expect(answers.map((answer) => answer?.status)).toEqual(answers.map(() => 201));
      await allSettled(stores.db);
      expect(await api.api.balanceOf(accounts[1])).toBe(answers.length);
      await judge(stores.db);
      await stopAll(api, sound);
    },
  );
});

describe('a worker paused past its lock', () => {
  it('cannot commit when it wakes up after another one took over', async () => {
    const api = await start('api');
    // It stops itself inside the transaction, with the effect written and nothing committed.
    const paused = await start('worker', 'run.before-commit=stop@1');
    const key = randomUUID();
    const body = { owner: 'Ada', currency: 'EUR', openingBalance: 500 };
    const pending = await api.api.post('/v1/accounts', body, { key, headers: { prefer: 'respond-async' } });
    expect(pending.status).toBe(202);
    await eventually(async () => expect(await stateOf(paused.pid)).toBe('T'));

    const sound = await start('worker');
    await allSettled(stores.db);
    const first = await api.api.post('/v1/accounts', body, { key });
    expect(first.status).toBe(201);
    paused.signal('SIGCONT');
    // The woken worker runs its next jobs: it is sound again, and what it held is settled only once.
    await sound.stop();
    const accounts: [string, string] = [first.body.id, await api.api.openAccount(0)];
    expect((await sendTransfers(api.api, accounts, newKeys(5))).map((answer) => answer?.status)).toEqual([
      201, 201, 201, 201, 201,
    ]);
    await judge(stores.db);
    const trail = (await api.api.get(`/v1/operations/${first.body.id}/audit`)).body.items;
    expect(trail.filter((item: { to: string }) => item.to === 'SUCCEEDED')).toHaveLength(1);
    await stopAll(api, paused);
  });

  it('under load: transfers go on elsewhere and none happens twice', async () => {
    const [api, sound, paused] = await Promise.all([start('api'), start('worker'), start('worker')]);
    const accounts: [string, string] = [await api.api.openAccount(10_000), await api.api.openAccount(0)];
    const sending = sendTransfers(api.api, accounts, newKeys(400));
    await eventually(async () => expect(await api.api.balanceOf(accounts[1])).toBeGreaterThan(0), { intervalMs: 1 });
    paused.signal('SIGSTOP');
    const answers = await sending;
    expect(answers.map((answer) => answer?.status)).toEqual(answers.map(() => 201));
    paused.signal('SIGCONT');
    const more = await sendTransfers(api.api, accounts, newKeys(100));
    expect(more.map((answer) => answer?.status)).toEqual(more.map(() => 201));
    expect(await api.api.balanceOf(accounts[1])).toBe(500);
    await judge(stores.db);
    await stopAll(api, sound, paused);
  });
});

async function stateOf(pid: number): Promise<string | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[0];
}
