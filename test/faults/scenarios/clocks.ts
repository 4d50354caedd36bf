import { setTimeout as pause } from 'node:timers/promises';
import { holdOpen, shiftedBy, terminateBackends } from '../../support/lab/cruelty.ts';
import type { Scenario } from '../../support/lab/scenario.ts';
import { beginMixedLoad } from './mixed-load.ts';

export const clockScenarios: readonly Scenario[] = [
  {
    name: 'the clock of a worker an hour ahead, which then dies',
    run: async (lab) => {
      await lab.prepare({ apis: 1, workers: 1 });
      const [sound] = lab.running('worker');
      const ahead = await lab.start('worker', shiftedBy(1));
      lab.inject('clock an hour ahead');
      beginMixedLoad(lab, { transfers: 300, proposals: 10, mailings: 2 });
      await lab.progress(30);
      // It has to do the work alone for a while, and to put jobs off.
      sound?.signal('SIGSTOP');
      await lab.progress(40);
      const held = holdOpen(lab, 'select 1 from accounts for update', 2_000);
      await pause(500);
      lab.inject('backend terminated', await terminateBackends(lab));
      // It has put off what it had in hand by a second, and does not live to see that second end.
      await pause(500);
      await ahead.kill();
      await held;
    },
  },
  {
    name: 'the clock of the only worker an hour behind, and FLUSHALL',
    run: async (lab) => {
      await lab.prepare({ apis: 1, workers: 1 });
      await Promise.all(lab.running('worker').map((worker) => worker.stop()));
      beginMixedLoad(lab, { transfers: 50, mailings: 1 });
      await lab.untilQueued(15);
      await lab.redis.flushall();
      lab.inject('FLUSHALL');
      await lab.start('worker', shiftedBy(-1));
      lab.inject('clock an hour behind');
      lab.inject('backend terminated', await terminateBackends(lab));
    },
  },
  {
    name: 'the clocks of two APIs two hours apart',
    run: async (lab) => {
      await lab.prepare({ apis: 1, workers: 1 });
      await Promise.all(([1, -1] as const).map((shift) => lab.start('api', shiftedBy(shift))));
      lab.inject('clock shifted', 2);
      lab.load.doubled = 0.4;
      beginMixedLoad(lab, { transfers: 150, mailings: 2 });
      await lab.progress(100);
      await lab.redis.flushall();
      await lab.load.repeat();
    },
  },
];
