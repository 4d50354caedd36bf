/** How often a worker looks for what is to be done without being told. It is all that an idle system does. */
export const pausesMs = {
  relay: 2_000,
  reconcile: 4_000,
  webhooks: 5_000,
  alerts: 5_000,
  clocks: 300_000,
};
