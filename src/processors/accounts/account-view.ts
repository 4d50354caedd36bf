import { z } from 'zod';
import type { AccountRow } from '../../store/accounts.ts';
import { id, instant } from '../fields.ts';

export const accountSchema = z
  .strictObject({
    id,
    owner: z.string(),
    currency: z.string().describe('ISO 4217'),
    balance: z.int().describe('In minor units. Negative within the overdraft limit.'),
    overdraftLimit: z.int().describe('How far below zero the balance may go.'),
    version: z.int().describe('Grows with each movement.'),
    createdAt: instant,
  })
  .meta({ id: 'Account' });

export function accountView(account: AccountRow): z.infer<typeof accountSchema> {
  return {
    id: account.id,
    owner: account.owner,
    currency: account.currency,
    balance: account.balance,
    overdraftLimit: account.overdraft_limit,
    version: account.version,
    createdAt: account.created_at.toISOString(),
  };
}
