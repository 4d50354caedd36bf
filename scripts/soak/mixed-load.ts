import { setTimeout as pause } from 'node:timers/promises';
import type { Lab } from '../../test/support/lab/lab.ts';

export interface MixedLoad {
  /** No new calls; those under way come to their end. */
  stop: () => Promise<void>;
}

/** How many clients of each kind, and how long each pauses between two calls: some fifty calls a second in all. */
const kinds = [
  { clients: 12, pauseMs: 200, call: (lab: Lab) => lab.load.transfer() },
  { clients: 2, pauseMs: 500, call: (lab: Lab) => lab.load.proposal() },
  { clients: 1, pauseMs: 1_000, call: (lab: Lab) => lab.load.openAccount() },
  { clients: 1, pauseMs: 3_000, call: (lab: Lab) => lab.load.bulk(lab.random.between(1, 40)) },
  { clients: 1, pauseMs: 5_000, call: (lab: Lab) => lab.load.mailing(lab.random.between(5, 60)) },
] as const;

/** Clients that go on until they are told to stop. Every transfer and every proposal is an event for a webhook as well. */
export function startMixedLoad(lab: Lab): MixedLoad {
  let isOver = false;
  const clients = kinds.flatMap(({ clients: count, pauseMs, call }) =>
    Array.from({ length: count }, async () => {
      while (!isOver) {
        await call(lab);
        await pause(pauseMs);
      }
    }),
  );
  return {
    stop: async () => {
      isOver = true;
      await Promise.all(clients);
    },
  };
}
