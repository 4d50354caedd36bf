import { forgetRows, rewriteFunction } from '../../support/lab/sabotage.ts';
import type { Scenario } from '../../support/lab/scenario.ts';
import { loadUntil } from './mixed-load.ts';

/**
 * One mechanism is taken away at a time, from outside: in the lab's own database, or by a failpoint. The lab must go red
 * for the invariant that the mechanism keeps; else it would not notice if we broke it ourselves.
 */
export const sabotageScenarios: readonly Scenario[] = [
  {
    name: 'sabotage: no deduplication of keys',
    red: ['E'],
    run: async (lab) => {
      await lab.prepare({ all: 2 });
      await rewriteFunction(lab.db, 'insert_records', [
        ['limit 1) is null', 'limit 1) is null or true'],
        ['on conflict (client, sub_client, operation, key) do nothing', ''],
      ]);
      await lab.db.query('drop index records_key');
      lab.inject('unique key of records dropped');
      lab.load.doubled = 1;
      await lab.load.transfers(30, 10);
    },
  },
  {
    name: 'sabotage: no fence',
    red: ['E'],
    run: async (lab) => {
      await lab.prepare();
      await rewriteFunction(lab.db, 'finish_records', [[`and r.epoch = o.epoch and r.status = 'PROCESSING'`, '']]);
      await rewriteFunction(lab.db, 'claim_records', [['and settled_at is null', '']]);
      // The check that a settled record is not being processed is a part of the fence as well.
      await lab.db.query('alter table records drop constraint records_check');
      lab.inject('fence removed');
      const paused = await lab.start('worker', { failpoints: 'run.locked=stop@5' });
      let isOver = false;
      lab.begin(loadUntil(lab, () => isOver));
      await lab.untilStopped(paused);
      lab.inject('SIGSTOP past the lock');
      isOver = true;
      // Whatever it had in hand is taken over and settled by the other one, and then it goes on.
      await lab.untilQuiet();
      paused.signal('SIGCONT');
      await lab.load.transfers(100, 10);
    },
  },
  {
    name: 'sabotage: no outbox',
    red: ['T'],
    // Twice what events need to arrive on a busy machine; after that they never will.
    patienceMs: 12_000,
    run: async (lab) => {
      await lab.prepare();
      await forgetRows(lab.db, 'outbox', 'true');
      lab.inject('outbox forgets what it is given');
      await lab.load.transfers(40, 10);
    },
  },
  {
    name: 'sabotage: no reconciler',
    red: ['T'],
    // The reconciler, were there one, would be through in nine seconds.
    patienceMs: 14_000,
    run: async (lab) => {
      await lab.prepare({ apis: 1, workers: 1 });
      await Promise.all(lab.running('worker').map((worker) => worker.stop()));
      lab.begin(lab.load.transfers(20, 20));
      await lab.untilQueued(20);
      await lab.redis.flushall();
      lab.inject('FLUSHALL, and the reconciler fails');
      await lab.start('worker', { failpoints: 'reconcile.begun=fail' });
    },
  },
  {
    name: 'sabotage: mails sent before they are claimed',
    red: ['E'],
    run: async (lab) => {
      await lab.prepare({ apis: 1, workers: 1 });
      await Promise.all(lab.running('worker').map((worker) => worker.stop()));
      await rewriteFunction(lab.db, 'claim_entries', [[`'SENDING'`, `'PENDING'`]]);
      await lab.load.mailing(60);
      await lab.runUntilDead('worker', { failpoints: 'mail.answered=kill@20' });
      lab.inject('claims not committed, and kill -9 at mail.answered');
    },
  },
  {
    name: 'sabotage: no limit on balances',
    red: ['S'],
    run: async (lab) => {
      await lab.prepare();
      await rewriteFunction(lab.db, 'apply_transfer', [
        [/v_from\.balance - v_amount < -v_from\.overdraft_limit/, 'false'],
      ]);
      await lab.db.query('alter table accounts drop constraint accounts_check1');
      lab.inject('limit removed');
      await lab.load.transfers(60, 10);
    },
  },
  {
    name: 'sabotage: stored answers that change',
    red: ['R'],
    run: async (lab) => {
      await lab.prepare();
      await lab.load.transfers(20, 10);
      await lab.db.query(
        `update records set response_body = replace(response_body::text, 'COMPLETED', 'DONE')::json where operation = 'transfer.create'`,
      );
      // Neither memory nor Redis remembers them any more.
      await Promise.all(lab.running('api').map((api) => api.stop()));
      await lab.redis.flushall();
      lab.inject('stored answers changed');
      await lab.start('all');
      await lab.load.repeat();
    },
  },
  {
    name: 'sabotage: claims leave no trace',
    red: ['A'],
    run: async (lab) => {
      await lab.prepare();
      await forgetRows(lab.db, 'audit', `new.to_status = 'PROCESSING'`);
      lab.inject('audit rows of claims left out');
      await lab.load.transfers(20, 10);
    },
  },
];
