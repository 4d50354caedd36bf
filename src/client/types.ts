import type { z } from 'zod';
import type { auditEntrySchema } from '../api/audit-view.ts';
import type { entrySchema, mailingSchema, uploadedMailingSchema } from '../api/mailing-view.ts';
import type { movementSchema } from '../api/movement-view.ts';
import type { operationSchema } from '../api/operation-view.ts';
import type { deliverySchema, webhookSchema } from '../api/webhook-view.ts';
import type { accountSchema } from '../processors/accounts/account-view.ts';
import type { openAccount } from '../processors/accounts/open-account.ts';
import type { createCustomer } from '../processors/customers/create-customer.ts';
import type { customerSchema } from '../processors/customers/customer-view.ts';
import type { createProposal } from '../processors/proposals/create-proposal.ts';
import type { proposalSchema } from '../processors/proposals/proposal-view.ts';
import type { createTransfer } from '../processors/transfers/create-transfer.ts';
import type { transferSchema } from '../processors/transfers/transfer-view.ts';
import type { registeredWebhookSchema, registerWebhook } from '../processors/webhooks/register-webhook.ts';

/** What is sent and what comes back, from the schemas that the service validates with. Nothing of them is loaded. */
export type Account = z.infer<typeof accountSchema>;
export type NewAccount = z.input<typeof openAccount.request>;
export type Movement = z.infer<typeof movementSchema>;
export type Transfer = z.infer<typeof transferSchema>;
export type NewTransfer = z.input<typeof createTransfer.request>;
export type Customer = z.infer<typeof customerSchema>;
export type NewCustomer = z.input<typeof createCustomer.request>;
export type Proposal = z.infer<typeof proposalSchema>;
export type NewProposal = z.input<typeof createProposal.request>;
export type Mailing = z.infer<typeof mailingSchema>;
export type MailingEntry = z.infer<typeof entrySchema>;
export type UploadedMailing = z.infer<typeof uploadedMailingSchema>;
export type Webhook = z.infer<typeof webhookSchema>;
export type NewWebhook = z.input<typeof registerWebhook.request>;
export type RegisteredWebhook = z.infer<typeof registeredWebhookSchema>;
export type Delivery = z.infer<typeof deliverySchema>;
export type Operation = z.infer<typeof operationSchema>;
export type AuditEntry = z.infer<typeof auditEntrySchema>;

export interface ClientOptions {
  /** Where the API is, such as `http://127.0.0.1:3000`. */
  url: string;
  apiKey: string;
  /** The sub-client that all calls are made for (`X-Client-ID`). */
  clientId?: string;
  /** How long a call may take in all, with its retries and its waiting. A minute by default. */
  timeoutMs?: number;
  /** In place of the global `fetch`. */
  fetch?: typeof fetch;
}

export interface CallOptions {
  signal?: AbortSignal;
  timeoutMs?: number;
}

export interface RunOptions extends CallOptions {
  /** The idempotency key. Without one the client makes one, which protects this call and its retries. */
  key?: string;
}

/** An answer with what its headers say. */
export interface Answer<T> {
  status: number;
  body: T;
  operationId: string | undefined;
  /** Whether this is the answer to an earlier request with the same key. */
  isReplay: boolean;
}
