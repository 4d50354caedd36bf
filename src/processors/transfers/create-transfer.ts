import { z } from 'zod';
import { createTransfers } from '../../store/transfers.ts';
import { defineOperation, strictKey } from '../define-operation.ts';
import { amount, id, text } from '../fields.ts';

/** Every rule of a transfer is in the SQL function create_transfers: it runs where the row locks are. */
export const createTransfer = defineOperation({
  name: 'transfer.create',
  request: z.strictObject({
    fromAccountId: id,
    toAccountId: id,
    amount,
    description: text(500).optional(),
  }),
  key: { required: true, pattern: strictKey },
  onMismatch: 'reject',
  replay: 'stored',
  processGroup: createTransfers,
});
