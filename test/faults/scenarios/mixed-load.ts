import type { Lab } from '../../support/lab/lab.ts';

/** Something of everything, beside the faults: small, so that a scenario takes seconds. */
export function beginMixedLoad(lab: Lab, { transfers = 200, proposals = 4, mailings = 1, rows = 40 } = {}): void {
  lab.begin(lab.load.transfers(transfers, 15));
  lab.begin(lab.load.proposals(proposals, 2));
  lab.begin(lab.load.bulk(30));
  for (let index = 0; index < mailings; index += 1) lab.begin(lab.load.mailing(rows));
}

/** More of it, for as long as something has not happened. */
export async function loadUntil(lab: Lab, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    await Promise.all([lab.load.transfers(30, 10), lab.load.proposal(), lab.load.bulk(10), lab.load.mailing(20)]);
  }
}
