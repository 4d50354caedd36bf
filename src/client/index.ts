export type { BulkLine, BulkOutcome } from './bulk.ts';
export type { MailingUpload } from './mailings.ts';
export { SemelClient } from './semel-client.ts';
export { type ClientErrorCode, SemelError } from './semel-error.ts';
export type * from './types.ts';
export { verifyWebhook, type WebhookEvent, type WebhookMessage, WebhookVerificationError } from './verify-webhook.ts';
