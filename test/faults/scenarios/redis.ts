import { setTimeout as pause } from 'node:timers/promises';
import { deleteLocks, restartRedis, truncateAppendOnlyFile } from '../../support/lab/cruelty.ts';
import type { Scenario } from '../../support/lab/scenario.ts';
import { beginMixedLoad } from './mixed-load.ts';

export const redisScenarios: readonly Scenario[] = [
  {
    name: 'Redis killed and back with its append-only file',
    persistentRedis: true,
    run: async (lab) => {
      await lab.prepare();
      beginMixedLoad(lab);
      await lab.progress(30);
      await restartRedis(lab);
      lab.inject('kill -9 of Redis');
    },
  },
  {
    name: 'Redis killed and back with a truncated append-only file',
    persistentRedis: true,
    run: async (lab) => {
      await lab.prepare();
      beginMixedLoad(lab);
      await lab.progress(30);
      await restartRedis(lab, () => truncateAppendOnlyFile(lab));
      lab.inject('kill -9 of Redis, and 20 kB of its file lost');
    },
  },
  {
    name: 'Redis killed and back empty',
    run: async (lab) => {
      await lab.prepare();
      beginMixedLoad(lab);
      await lab.progress(30);
      await restartRedis(lab);
      lab.inject('kill -9 of Redis, and all of it lost');
    },
  },
  {
    name: 'FLUSHALL under load',
    run: async (lab) => {
      await lab.prepare();
      beginMixedLoad(lab, { transfers: 300 });
      for (let time = 1; time <= 3; time += 1) {
        await lab.progress(30);
        await lab.redis.flushall();
        lab.inject('FLUSHALL');
      }
    },
  },
  {
    name: 'Redis full (maxmemory reached)',
    run: async (lab) => {
      await lab.prepare();
      beginMixedLoad(lab);
      await lab.progress(30);
      await lab.redis.config('SET', 'maxmemory', '1mb');
      lab.inject('maxmemory reached');
      await pause(1_000);
      // As if it had been full for minutes: the next refusal would be the last one that a bad row may have.
      await lab.db.query('update outbox set attempts = 9, next_attempt_at = now()');
      await pause(3_000);
      await lab.redis.config('SET', 'maxmemory', '0');
    },
  },
  {
    name: 'Redis black-holed',
    proxied: ['redis'],
    run: async (lab) => {
      await lab.prepare();
      beginMixedLoad(lab);
      await lab.progress(30);
      lab.proxy('redis').blackHole();
      lab.inject('network to Redis swallows everything for 4 s');
      await pause(1_000);
      // As if it had been so for minutes.
      await lab.db.query('update outbox set attempts = 9, next_attempt_at = now()');
      await pause(3_000);
      lab.proxy('redis').heal();
    },
  },
  {
    name: 'Redis black-holed before a worker has used its queues',
    proxied: ['redis'],
    run: async (lab) => {
      await lab.prepare({ apis: 1, workers: 1 });
      await lab.untilQuiet();
      const [old] = lab.running('worker');
      await lab.start('worker');
      await old?.stop();
      lab.proxy('redis').blackHole();
      lab.inject('network to Redis swallows everything for 6 s');
      lab.begin(lab.load.transfers(20, 20));
      // The relay comes every two seconds, and waits a second for its answer.
      await pause(6_000);
    },
  },
  {
    name: 'connections to Redis cut and slow',
    proxied: ['redis'],
    run: async (lab) => {
      await lab.prepare();
      beginMixedLoad(lab);
      lab.proxy('redis').delay(20);
      for (let time = 1; time <= 5; time += 1) {
        await lab.progress(20);
        lab.inject('connection to Redis cut', lab.proxy('redis').cut());
      }
    },
  },
  {
    name: 'replies of Redis to an enqueueing lost',
    proxied: ['redis'],
    run: async (lab) => {
      await lab.prepare();
      lab.proxy('redis').loseReply({ request: /evalsha/i, reply: /./s, times: 30 });
      beginMixedLoad(lab);
      await lab.progress(100);
      lab.inject('reply of Redis lost', lab.proxy('redis').lostReplies);
    },
  },
  {
    name: 'locks deleted under load',
    run: async (lab) => {
      await lab.prepare({ apis: 1, workers: 2 });
      beginMixedLoad(lab, { transfers: 300 });
      for (let time = 1; time <= 10; time += 1) {
        await lab.progress(20);
        lab.inject('lock deleted', await deleteLocks(lab));
      }
    },
  },
];
