import { setTimeout as pause } from 'node:timers/promises';
import type { FailpointName } from '../../../src/failpoints.ts';
import type { Scenario } from '../../support/lab/scenario.ts';
import { beginMixedLoad, loadUntil } from './mixed-load.ts';

/** Processes die under load, each at its own failpoint, and sound ones do their work. */
function killAtEach(
  role: 'api' | 'worker',
  what: string,
  failpoints: readonly `${FailpointName}=kill@${number}`[],
): Scenario {
  return {
    name: `kill -9 of ${role === 'api' ? 'an API' : 'a worker'} at each boundary ${what}`,
    run: async (lab) => {
      await lab.prepare();
      const doomed = failpoints.map(async (armed) => {
        await lab.runUntilDead(role, { failpoints: armed });
        lab.inject(`kill -9 at ${armed.split('=')[0]}`);
      });
      let isOver = false;
      const all = Promise.all(doomed).then(() => {
        isOver = true;
      });
      // A sound one may be quicker and take it all; then there is more to do, until each doomed one has had its share.
      await Promise.all([all, loadUntil(lab, () => isOver)]);
    },
  };
}

export const processScenarios: readonly Scenario[] = [
  killAtEach('api', 'of an intake', [
    'submit.committed=kill@3',
    'submit.enqueued=kill@3',
    'upload.stored=kill@1',
    'upload.committed=kill@1',
  ]),
  killAtEach('worker', 'of an operation', [
    'run.locked=kill@3',
    'run.before-commit=kill@1',
    'run.committed=kill@3',
    'run.announced=kill@3',
    'run.before-job-end=kill@3',
  ]),
  killAtEach('worker', 'of relay, reconciler, events and webhooks', [
    'relay.claimed=kill@1',
    'relay.enqueued=kill@2',
    'reconcile.begun=kill@1',
    'event.consumed=kill@3',
    'webhook.claimed=kill@3',
    'webhook.answered=kill@3',
  ]),
  killAtEach('worker', 'of a mailing', [
    'ingest.written=kill@1',
    'mail.claimed=kill@3',
    'mail.data=kill@3',
    'mail.answered=kill@3',
    'mail.settled=kill@2',
  ]),
  {
    name: 'a worker stopped past its lock, then going on',
    run: async (lab) => {
      await lab.prepare({ apis: 1, workers: 2 });
      beginMixedLoad(lab, { transfers: 300 });
      for (const worker of lab.running('worker')) {
        await lab.progress(30);
        worker.signal('SIGSTOP');
        lab.inject('SIGSTOP past the lock');
        // Longer than the lock: the other one has taken over by then, which is what is tested.
        await pause(2_500);
        worker.signal('SIGCONT');
      }
    },
  },
  {
    name: 'a worker stopped inside its transaction, then going on',
    run: async (lab) => {
      await lab.prepare();
      // It stops itself with the effect written and nothing committed.
      const paused = await lab.start('worker', { failpoints: 'run.before-commit=stop@1' });
      let isOver = false;
      lab.begin(loadUntil(lab, () => isOver));
      await lab.untilStopped(paused);
      lab.inject('SIGSTOP inside a transaction');
      await pause(2_500);
      isOver = true;
    },
  },
  {
    name: 'a worker stopped for good while it writes a part of a file',
    run: async (lab) => {
      await lab.prepare();
      const stopped = await lab.start('worker', { failpoints: 'ingest.locked=stop@1' });
      let isOver = false;
      lab.begin(loadUntil(lab, () => isOver));
      await lab.untilStopped(stopped);
      lab.inject('SIGSTOP with a row locked');
      isOver = true;
      // It stays as it is until all has ended without it.
      await lab.finish();
      await lab.untilQuiet();
    },
  },
  {
    name: 'an event loop blocked past the lock',
    run: async (lab) => {
      await lab.prepare();
      const blocks = ['run.locked=block:2500@3', 'run.committed=block:2500@9', 'mail.claimed=block:2500@9'];
      await lab.start('worker', { failpoints: blocks.join(',') });
      lab.inject('event loop blocked past the lock', blocks.length);
      beginMixedLoad(lab, { transfers: 300, mailings: 2 });
      await lab.progress(150);
    },
  },
  {
    name: 'a job that kills its worker every time',
    environment: { LOCK_DURATION_MS: '500' },
    run: async (lab) => {
      await lab.prepare({ apis: 1, workers: 1 });
      await Promise.all(lab.running('worker').map((worker) => worker.stop()));
      lab.begin(lab.load.openAccount());
      for (let life = 1; life <= 5; life += 1) {
        await lab.runUntilDead('worker', { failpoints: 'run.before-commit=kill' });
        lab.inject('worker killed by its job');
      }
      await lab.start('worker');
      lab.begin(lab.load.transfers(50));
    },
    expect: async ({ db }) => {
      // Its client has sent it again meanwhile, so what tells is the trail.
      const { rows } = await db.query(`select detail from audit where to_status = 'FAILED'`);
      if (rows.length !== 1 || rows[0].detail.error !== '5 workers died while they ran this') {
        throw new Error(`one failure was expected, and not ${JSON.stringify(rows)}`);
      }
    },
  },
  {
    name: 'every process replaced by SIGTERM under load',
    run: async (lab) => {
      await lab.prepare({ apis: 2, workers: 2 });
      let isOver = false;
      lab.begin(loadUntil(lab, () => isOver));
      for (const old of [...lab.running('worker'), ...lab.running('api')]) {
        await lab.start(old.role);
        const code = await old.stop();
        if (code !== 0) throw new Error(`a process ended with ${code}`);
        lab.inject('SIGTERM');
      }
      isOver = true;
    },
  },
];
