import type { ErrorCode } from '../../errors.ts';
import { exampleIds } from './example-ids.ts';

interface ProblemExample {
  detail: string;
  [extra: string]: unknown;
}

const operationId = exampleIds.transfer;
const refused = { operationId, effect: 'not_applied' };

/** How each problem reads. */
export const problemExamples: Record<ErrorCode, ProblemExample> = {
  INVALID_REQUEST: {
    detail: 'Not valid: amount Too small: expected number to be >=1.',
    errors: [{ path: 'amount', message: 'Too small: expected number to be >=1' }],
  },
  IDEMPOTENCY_KEY_REQUIRED: { detail: 'transfer.create needs the header Idempotency-Key.' },
  IDEMPOTENCY_KEY_INVALID: { detail: 'For transfer.create it must match ^[A-Za-z0-9_-]{10,64}$.' },
  CSV_INVALID: { detail: 'The header has no column "email".', line: 1 },
  CSV_EMPTY: { detail: 'The file has no rows.' },
  TEMPLATE_INVALID: { detail: 'text: a {{ is not closed with }}.' },
  UNAUTHENTICATED: { detail: 'Send a valid key as "Authorization: Bearer <api key>".' },
  FORBIDDEN: { detail: 'The API key lacks the scope operate.' },
  NOT_FOUND: { detail: 'There is no such account.' },
  OPERATION_IN_PROGRESS: {
    detail: 'The first request with this key is still being worked on.',
    operationId,
    effect: 'unknown',
  },
  FILENAME_REUSED: {
    detail: 'Another file was uploaded under this name before. Rename it, or add ?identity=content.',
    mailingId: exampleIds.mailing,
    effect: 'not_applied',
  },
  EMAIL_TAKEN: { detail: 'Another customer has this email.', ...refused },
  VERSION_CONFLICT: {
    detail: 'The proposal is at version 2, not 1.',
    currentVersion: 2,
    currentStatus: 'SUBMITTED',
    ...refused,
  },
  INVALID_STATE: {
    detail: 'The proposal is ACCEPTED; only from SUBMITTED can it become REJECTED.',
    currentStatus: 'ACCEPTED',
    effect: 'not_applied',
  },
  LAST_ADMIN_KEY: { detail: 'Nobody could make another key without it. Make another admin key first.' },
  TOO_LARGE: { detail: 'A body may have at most 262144 bytes.' },
  UNSUPPORTED_MEDIA_TYPE: { detail: 'Send the body as "Content-Type: application/json".' },
  INCONSISTENT_REQUEST: {
    detail: 'The key belongs to another request, which differs in amount.',
    operationId,
    differingFields: ['amount'],
    effect: 'applied',
  },
  INSUFFICIENT_FUNDS: { detail: 'The balance and the overdraft limit do not cover the amount.', ...refused },
  SAME_ACCOUNT: { detail: 'A transfer needs two different accounts.', ...refused },
  CURRENCY_MISMATCH: { detail: 'The accounts are in EUR and JPY.', ...refused },
  ACCOUNT_NOT_FOUND: { detail: `There is no account ${exampleIds.adasAccount} to take from.`, ...refused },
  CUSTOMER_NOT_FOUND: { detail: `There is no customer ${exampleIds.customer}.`, ...refused },
  WEBHOOK_URL_REFUSED: { detail: 'The host is not on the public internet.', effect: 'not_applied' },
  BALANCE_LIMIT: { detail: 'The receiving account cannot hold that much.', ...refused },
  RATE_LIMITED: { detail: 'The limit is 60000 requests a minute. Try again in 12 s.' },
  INTERNAL: { detail: 'The error is in our log under the request id 2f0c5a7e-4b1d-4a56-9c3e-8d7f6b5a4c3e.' },
  OPERATION_FAILED: {
    detail: 'The operation failed after its last attempt. Sent again with the same key, it runs again.',
    ...refused,
  },
  OUTCOME_UNKNOWN: {
    detail: 'An attempt was cut off in the middle. A person has to say what became of it.',
    operationId,
    effect: 'unknown',
  },
  UNAVAILABLE: {
    detail: 'The database cannot be reached. Send the request again with the same key.',
    effect: 'unknown',
  },
};
