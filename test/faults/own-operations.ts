import { z } from 'zod';
import { defineOperation, printableKey } from '../../src/processors/define-operation.ts';
import { succeeded } from '../../src/processors/outcomes.ts';
import { insertAccount } from '../../src/store/accounts.ts';

const base = {
  key: { required: true, pattern: printableKey },
  onMismatch: 'reject',
  replay: 'stored',
} as const;

/** Calls another system, which is a server of the test. It sees the key and decides how the call ends. */
const createCharge = (external: 'at-most-once' | 'at-least-once') =>
  defineOperation({
    ...base,
    name: `test.charge.${external}`,
    external,
    claim: 'first',
    request: z.strictObject({ url: z.string() }),
    process: async ({ url }, { effectKey }) => {
      const answer = await fetch(url, { method: 'POST', body: effectKey });
      return succeeded(201, { said: await answer.text() });
    },
  });

/** Long work with an effect in the database: its claim is committed first. */
const openSlowly = defineOperation({
  ...base,
  name: 'test.open-slowly',
  claim: 'first',
  request: z.strictObject({}),
  process: async (_, { tx, record: { id, client } }) => {
    await insertAccount(tx, { id, client, owner: 'slow', currency: 'EUR', openingBalance: 0, overdraftLimit: 0 });
    return succeeded(201, { id });
  },
});

export const ownOperations = [createCharge('at-most-once'), createCharge('at-least-once'), openSlowly];
