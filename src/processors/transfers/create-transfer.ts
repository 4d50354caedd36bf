import { z } from 'zod';
import { createTransfers } from '../../store/transfers.ts';
import { defineOperation, strictKey } from '../define-operation.ts';
import { amount, id, text } from '../fields.ts';
import { transferSchema } from './transfer-view.ts';

/** Every rule of a transfer is in the SQL function create_transfers: it runs where the row locks are. */
export const createTransfer = defineOperation({
  name: 'transfer.create',
  request: z.strictObject({
    fromAccountId: id,
    toAccountId: id,
    amount,
    description: text(500).optional(),
  }),
  success: { status: 201, body: transferSchema },
  rejects: ['SAME_ACCOUNT', 'ACCOUNT_NOT_FOUND', 'CURRENCY_MISMATCH', 'INSUFFICIENT_FUNDS', 'BALANCE_LIMIT'],
  key: { required: true, pattern: strictKey },
  onMismatch: 'reject',
  replay: 'stored',
  processGroup: createTransfers,
});
