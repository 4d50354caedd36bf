/**
 * The ids of the examples. An answer that shows one of them makes it; a request that names it needs it. So the examples
 * of all routes are one story that a test can act out, with real ids in their place.
 */
export const exampleIds = {
  adasAccount: '01a1edc8-25e9-7125-a009-727aa785e463',
  gracesAccount: '01a1edc8-3f10-7c41-8e52-0b5f2d6a9c17',
  transfer: '01a1edc9-0a44-7b90-9d1f-6c3e8a5b2f48',
  laterTransfer: '01a1edc9-2b67-7d05-8a3c-f40d9e1b6c52',
  customer: '01a1edc9-51c7-7e03-b6a4-93d07f1c8e25',
  proposal: '01a1edc9-7d32-7a5f-8c19-2e4b6f80a3d1',
  otherProposal: '01a1edc9-8b06-74d8-a73e-d15c9b0f6e42',
  mailing: '01a1edca-1f5d-7c86-9b02-47e8d3a6f519',
  heldMailing: '01a1edca-3c71-7f24-8d5a-b09e6c1f7a83',
  webhook: '01a1edca-66e8-7d19-a4c3-5f2b8e0d9176',
  testEvent: '01a1edca-7a95-7b3c-9e60-c84d1f5a2b37',
  fault: '01a1edca-9b2e-7c07-8f31-64d0a7e5c2b9',
  faultyMailing: '01a1edca-9d40-7a6b-b1e8-2c95f0d3847a',
  delivery: '01a1edca-7aa1-7e58-b2d7-0f6a3c9e8d14',
  failedTransfer: '01a1edcb-10b2-7f6d-8a3c-e91d5c7b4f02',
  otherFailedTransfer: '01a1edcb-1c57-7a08-9f14-6b2e8d0a3c95',
  unknownTransfer: '01a1edcb-28e4-7d93-b05e-f47a1c6d8b30',
  deadLetter: '01a1edcb-31f9-7c4a-8e62-0d9b5f3a7e18',
  otherDeadLetter: '01a1edcb-3a06-7e15-a7d8-c26f4b8e1d59',
  mailDeadLetter: '9d0c2b7e-5a41-4f38-b6e9-1c7d3f8a2e64',
  operatorKey: '01a1edcb-45d3-7b26-9c81-3e0f6a9d2b74',
  shopKey: '01a1edcb-4ef0-7f59-8b27-a5d1c8e3f690',
  adminAction: '01a1edcb-57a8-7c82-b4f6-9e2d0b6c1a35',
};

/** The secrets in the links of a mail. */
export const exampleTokens = {
  verify: 'q1Zc8mR5T0aVnY3sKdLw7g',
  unsubscribe: 'q1Zc8mR5T0aVnY3sKdLw7g.X4pB9eJfUhTiO2yNcZkQ6s',
};
