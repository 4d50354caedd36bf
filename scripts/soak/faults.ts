import { setTimeout as pause } from 'node:timers/promises';
import { failpointNames } from '../../src/failpoints.ts';
import {
  deleteLocks,
  holdOpen,
  lockBackwards,
  loseAppendOnlyFile,
  restartPostgres,
  restartRedis,
  shiftedBy,
  terminateBackends,
  truncateAppendOnlyFile,
} from '../../test/support/lab/cruelty.ts';
import type { Lab } from '../../test/support/lab/lab.ts';
import { holdUploads } from '../../test/support/lab/slow-uploads.ts';
import type { ServiceProcess } from '../../test/support/service-process.ts';

export interface Fault {
  name: string;
  /** Ends when the fault is over and its damage is mended, as far as that is up to an operator. */
  inject: (lab: Lab, mortals: Mortals) => Promise<void>;
}

/** The processes that may die. One API and one worker live through it all, so that their growth can be watched. */
export interface Mortals {
  pick: (role: 'api' | 'worker') => ServiceProcess;
  replace: (service: ServiceProcess) => Promise<void>;
  all: () => readonly ServiceProcess[];
}

/** A doomed process that nothing leads to its failpoint is given up after this long. */
const doomMs = 15_000;

export const faults: readonly Fault[] = [
  ...(['api', 'worker'] as const).map((role) => ({
    name: `kill -9 of ${role === 'api' ? 'an API' : 'a worker'}`,
    inject: async (_lab: Lab, mortals: Mortals) => {
      const victim = mortals.pick(role);
      await victim.kill();
      await mortals.replace(victim);
    },
  })),
  {
    name: 'kill -9 at a failpoint',
    inject: async (lab) => {
      const name = lab.random.pick(failpointNames);
      const role = /^(submit|upload)/.test(name) ? 'api' : 'worker';
      const doomed = await lab
        .start(role, { failpoints: `${name}=kill@${lab.random.between(1, 5)}` })
        .catch(() => undefined);
      if (!doomed) return;
      await Promise.race([doomed.exited, pause(doomMs)]);
      await doomed.kill();
    },
  },
  {
    name: 'SIGSTOP past the lock, then SIGCONT',
    inject: async (lab, mortals) => {
      const victim = mortals.pick(lab.random.pick(['api', 'worker']));
      victim.signal('SIGSTOP');
      await pause(lab.random.between(1_500, 6_000));
      victim.signal('SIGCONT');
    },
  },
  {
    name: 'event loop blocked past the lock',
    inject: async (lab) => {
      const name = lab.random.pick([
        'run.locked',
        'run.committed',
        'mail.claimed',
        'webhook.answered',
        'event.consumed',
      ]);
      const blocked = await lab.start('worker', { failpoints: `${name}=block:3000@${lab.random.between(1, 20)}` });
      await pause(8_000);
      await blocked.stop();
    },
  },
  {
    name: 'a worker whose clock is shifted by an hour',
    inject: async (lab) => {
      const shifted = await lab.start('worker', shiftedBy(lab.random.pick([1, -1])));
      await pause(lab.random.between(2_000, 8_000));
      if (lab.random.next() < 0.5) await shifted.kill();
      else await shifted.stop();
    },
  },
  {
    name: 'SIGTERM of every mortal process in turn',
    inject: async (_lab, mortals) => {
      for (const old of [...mortals.all()]) {
        await mortals.replace(old);
        const code = await old.stop();
        if (code !== 0) throw new Error(`a process ended with ${code} after SIGTERM`);
      }
    },
  },
  {
    name: 'Redis killed, back with its file',
    inject: (lab) => restartRedis(lab, undefined, lab.random.between(200, 5_000)),
  },
  {
    name: 'Redis killed, back with a truncated file',
    inject: (lab) => restartRedis(lab, () => truncateAppendOnlyFile(lab)),
  },
  { name: 'Redis killed, back empty', inject: (lab) => restartRedis(lab, () => loseAppendOnlyFile(lab)) },
  {
    name: 'FLUSHALL',
    inject: async (lab) => {
      await lab.redis.flushall();
    },
  },
  {
    name: 'Redis full',
    inject: async (lab) => {
      await lab.redis.config('SET', 'maxmemory', '1mb');
      await pause(lab.random.between(2_000, 10_000));
      await lab.redis.config('SET', 'maxmemory', '0');
    },
  },
  {
    name: 'Redis black-holed for 20 s',
    inject: async (lab) => {
      lab.proxy('redis').blackHole();
      await pause(20_000);
      lab.proxy('redis').heal();
    },
  },
  {
    name: 'Redis slow, connections cut',
    inject: async (lab) => {
      lab.proxy('redis').delay(lab.random.between(5, 100));
      for (let time = 0; time < 5; time += 1) {
        await pause(500);
        lab.proxy('redis').cut();
      }
      lab.proxy('redis').heal();
    },
  },
  {
    name: 'replies of Redis lost',
    inject: async (lab) => {
      lab.proxy('redis').loseReply({ request: /evalsha/i, reply: /./s, times: 20 });
      await pause(3_000);
      lab.proxy('redis').heal();
    },
  },
  {
    name: 'locks deleted',
    inject: async (lab) => {
      for (let time = 0; time < 20; time += 1) {
        await deleteLocks(lab);
        await pause(50);
      }
    },
  },
  { name: 'Postgres restarted immediately', inject: (lab) => restartPostgres(lab, 'SIGQUIT') },
  { name: 'Postgres killed', inject: (lab) => restartPostgres(lab, 'SIGKILL') },
  {
    name: 'Postgres black-holed for 5 s',
    inject: async (lab) => {
      lab.proxy('postgres').blackHole();
      await pause(5_000);
      lab.proxy('postgres').heal();
    },
  },
  {
    name: 'replies to COMMIT lost',
    inject: async (lab) => {
      const proxy = lab.proxy('postgres');
      proxy.loseReply({ reply: /COMMIT\0/, times: 10 });
      await pause(2_000);
      const request = /submit_records|create_transfers|advance_batch|finish_batch|webhook_deliveries/;
      proxy.loseReply({ request, reply: /Z\0\0\0./s, times: 10 });
      await pause(2_000);
      proxy.heal();
    },
  },
  {
    name: 'connections to Postgres terminated',
    inject: async (lab) => {
      for (let time = 0; time < 5; time += 1) {
        await terminateBackends(lab);
        await pause(300);
      }
    },
  },
  {
    name: 'a table locked for 10 s',
    inject: async (lab) => {
      const table = lab.random.pick([
        'records',
        'outbox',
        'accounts',
        'mailing_entries',
        'webhook_deliveries',
        'audit',
      ]);
      await holdOpen(lab, `lock table ${table} in access exclusive mode`, 10_000);
    },
  },
  {
    name: 'deadlocks',
    inject: async (lab) => {
      for (let time = 0; time < 4; time += 1) await lockBackwards(lab);
    },
  },
  {
    name: 'a mail server in a bad mood',
    inject: async (lab) => {
      const moods = [
        'drop-after-data',
        'hang-at-rcpt',
        'hang-at-data',
        { code: 451, at: 'data' },
        { code: 421, at: 'rcpt' },
      ] as const;
      lab.mail.moodFor = () => (lab.random.next() < 0.3 ? lab.random.pick(moods) : 'take');
      await pause(10_000);
      lab.mail.moodFor = () => 'take';
    },
  },
  {
    name: 'a webhook receiver that applies and fails',
    inject: async (lab) => {
      const receptions = ['refuse', 'hang', 'apply-and-fail', 'apply-and-cut'] as const;
      lab.webhooks.receptionFor = (_id, times) =>
        times < 3 && lab.random.next() < 0.5 ? lab.random.pick(receptions) : 'take';
      await pause(10_000);
      lab.webhooks.receptionFor = () => 'take';
    },
  },
  {
    name: '100 slow uploads, cut off',
    inject: async (_lab, mortals) => {
      const uploads = await holdUploads(mortals.pick('api').api.url, 100);
      await uploads.trickle(20);
      uploads.cut();
    },
  },
];
