import { setTimeout as pause } from 'node:timers/promises';
import { holdOpen, lockBackwards, restartPostgres, terminateBackends } from '../../support/lab/cruelty.ts';
import type { Scenario } from '../../support/lab/scenario.ts';
import { beginMixedLoad } from './mixed-load.ts';

export const postgresScenarios: readonly Scenario[] = [
  {
    name: 'Postgres restarted immediately, in the middle of transactions',
    ownPostgres: true,
    run: async (lab) => {
      await lab.prepare();
      beginMixedLoad(lab, { transfers: 300 });
      for (const signal of ['SIGQUIT', 'SIGKILL'] as const) {
        await lab.progress(40);
        await restartPostgres(lab, signal);
        lab.inject(`${signal === 'SIGQUIT' ? 'immediate shutdown' : 'kill -9'} of Postgres`);
      }
    },
  },
  {
    name: 'connections to Postgres killed',
    run: async (lab) => {
      await lab.prepare();
      beginMixedLoad(lab, { transfers: 300 });
      for (let time = 1; time <= 6; time += 1) {
        await lab.progress(25);
        lab.inject('backend terminated', await terminateBackends(lab));
      }
    },
  },
  {
    name: 'replies to COMMIT lost',
    proxied: ['postgres'],
    run: async (lab) => {
      await lab.prepare();
      const proxy = lab.proxy('postgres');
      // COMMIT by name, and the implicit one of a single statement, whose reply ends with "ready for query".
      proxy.loseReply({ reply: /COMMIT\0/, times: 6 });
      beginMixedLoad(lab, { transfers: 100, proposals: 6, mailings: 2 });
      await lab.progress(60);
      proxy.loseReply({
        request: /submit_records|create_transfers|advance_batch|finish_batch/,
        reply: /Z\0\0\0./s,
        times: 20,
      });
      beginMixedLoad(lab, { transfers: 200, mailings: 2 });
      await lab.progress(100);
      lab.inject('reply to a commit lost', proxy.lostReplies);
    },
  },
  {
    name: 'Postgres black-holed',
    proxied: ['postgres'],
    run: async (lab) => {
      await lab.prepare();
      beginMixedLoad(lab);
      await lab.progress(30);
      lab.proxy('postgres').blackHole();
      lab.inject('network to Postgres swallows everything for 3 s');
      await pause(3_000);
    },
  },
  {
    name: 'the pool of connections exhausted',
    environment: { DATABASE_POOL_SIZE: '2' },
    run: async (lab) => {
      await lab.prepare();
      beginMixedLoad(lab);
      await lab.progress(20);
      // Whoever moves money waits with its connection in hand, and there are only two.
      lab.inject('every connection of the pool held for 2.5 s');
      await holdOpen(lab, 'select 1 from accounts for update', 2_500);
    },
  },
  {
    name: 'a table locked',
    run: async (lab) => {
      await lab.prepare();
      beginMixedLoad(lab);
      for (const table of ['records', 'outbox', 'audit']) {
        await lab.progress(20);
        lab.inject(`${table} locked for 2.5 s`);
        await holdOpen(lab, `lock table ${table} in access exclusive mode`, 2_500);
      }
    },
  },
  {
    name: 'deadlocks',
    run: async (lab) => {
      await lab.prepare();
      beginMixedLoad(lab, { transfers: 300 });
      for (let time = 1; time <= 4; time += 1) {
        await lab.progress(20);
        await lockBackwards(lab);
      }
      const { rows } = await lab.db.query('select deadlocks from pg_stat_database where datname = current_database()');
      lab.inject('deadlock', Number(rows[0].deadlocks));
    },
  },
];
