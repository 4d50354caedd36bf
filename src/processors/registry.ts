import { openAccount } from './accounts/open-account.ts';
import { createCustomer } from './customers/create-customer.ts';
import type { AnyOperation } from './define-operation.ts';
import { acceptProposal } from './proposals/accept-proposal.ts';
import { createProposal } from './proposals/create-proposal.ts';
import { rejectProposal } from './proposals/reject-proposal.ts';
import { submitProposal } from './proposals/submit-proposal.ts';
import { createTransfer } from './transfers/create-transfer.ts';
import { registerWebhook } from './webhooks/register-webhook.ts';

/** Every operation that Semel knows. A test fails if a file with an operation is not listed. */
export const operations: readonly AnyOperation[] = [
  openAccount,
  createTransfer,
  createCustomer,
  createProposal,
  submitProposal,
  acceptProposal,
  rejectProposal,
  registerWebhook,
];

export type Registry = ReadonlyMap<string, AnyOperation>;

export function createRegistry(list: readonly AnyOperation[]): Registry {
  const registry = new Map<string, AnyOperation>();
  for (const operation of list) {
    // It would have the path of the route for many operations at once.
    if (operation.name === 'bulk') throw new Error('no operation may be named bulk');
    if (registry.has(operation.name)) throw new Error(`two operations are named ${operation.name}`);
    registry.set(operation.name, operation);
  }
  return registry;
}
