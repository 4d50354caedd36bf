import { z } from 'zod';
import { ensureSystemAccount, insertAccount } from '../../store/accounts.ts';
import { insertOpening } from '../../store/movements.ts';
import { defineOperation, printableKey } from '../define-operation.ts';
import { amountOrZero, text } from '../fields.ts';
import { succeeded } from '../outcomes.ts';
import { accountSchema, accountView } from './account-view.ts';

export const openAccount = defineOperation({
  name: 'account.open',
  request: z.strictObject({
    owner: text(200).min(1),
    currency: z.string().regex(/^[A-Z]{3}$/, 'must be three capital letters, as in ISO 4217'),
    openingBalance: amountOrZero.default(0),
    overdraftLimit: amountOrZero.default(0),
  }),
  success: { status: 201, body: accountSchema },
  key: { required: true, pattern: printableKey },
  onMismatch: 'reject',
  replay: 'stored',
  process: async (request, { tx, record }) => {
    const { owner, currency, openingBalance, overdraftLimit } = request;
    const account = await insertAccount(tx, {
      id: record.id,
      client: record.client,
      owner,
      currency,
      openingBalance,
      overdraftLimit,
    });
    if (openingBalance > 0) {
      const systemAccountId = await ensureSystemAccount(tx, record.client, currency);
      await insertOpening(tx, {
        operationId: record.id,
        accountId: account.id,
        systemAccountId,
        amount: openingBalance,
      });
    }
    return succeeded(201, accountView(account), { resource: { type: 'account', id: account.id } });
  },
});
