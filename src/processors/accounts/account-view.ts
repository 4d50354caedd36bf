import type { AccountRow } from '../../store/accounts.ts';

export function accountView(account: AccountRow) {
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
