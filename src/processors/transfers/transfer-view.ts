import { z } from 'zod';
import type { TransferRow } from '../../store/transfers.ts';
import { amount, id, instant } from '../fields.ts';

export const transferSchema = z
  .strictObject({
    id,
    fromAccountId: id,
    toAccountId: id,
    amount,
    currency: z.string().describe('ISO 4217'),
    description: z.string().nullable(),
    status: z.literal('COMPLETED'),
    createdAt: instant,
  })
  .meta({ id: 'Transfer' });

/** The same fields, in the same order, as the answer that create_transfers stores. */
export function transferView(transfer: TransferRow): z.infer<typeof transferSchema> {
  return {
    id: transfer.id,
    fromAccountId: transfer.from_account_id,
    toAccountId: transfer.to_account_id,
    amount: transfer.amount,
    currency: transfer.currency,
    description: transfer.description,
    status: 'COMPLETED',
    createdAt: transfer.created_at.toISOString(),
  };
}
