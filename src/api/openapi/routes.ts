import { accountDocs } from '../routes/accounts-docs.ts';
import { actionDocs } from '../routes/admin/actions-docs.ts';
import { apiKeyDocs } from '../routes/admin/api-keys-docs.ts';
import { deadLetterDocs } from '../routes/admin/dead-letters-docs.ts';
import { idempotencyDocs } from '../routes/admin/idempotency-docs.ts';
import { invariantDocs } from '../routes/admin/invariants-docs.ts';
import { recordDocs } from '../routes/admin/records-docs.ts';
import { customerDocs } from '../routes/customers-docs.ts';
import { documentationDocs } from '../routes/documentation-docs.ts';
import { healthDocs } from '../routes/health-docs.ts';
import { entryDocs } from '../routes/mailing-entries-docs.ts';
import { mailingDocs } from '../routes/mailings-docs.ts';
import { metricsDocs } from '../routes/metrics-docs.ts';
import { operationDocs } from '../routes/operations-docs.ts';
import { proposalDocs } from '../routes/proposals-docs.ts';
import { publicLinkDocs } from '../routes/public-links-docs.ts';
import { suppressionDocs } from '../routes/suppressions-docs.ts';
import { transferDocs } from '../routes/transfers-docs.ts';
import { webhookDocs } from '../routes/webhooks-docs.ts';
import type { RouteGroup } from './route-docs.ts';

/** Every route in words, in the order in which a reader meets them. A test fails if one is missing or too many. */
export const routeGroups: readonly RouteGroup[] = [
  accountDocs,
  transferDocs,
  customerDocs,
  proposalDocs,
  suppressionDocs,
  mailingDocs,
  entryDocs,
  publicLinkDocs,
  webhookDocs,
  operationDocs,
  idempotencyDocs,
  recordDocs,
  deadLetterDocs,
  apiKeyDocs,
  invariantDocs,
  actionDocs,
  healthDocs,
  metricsDocs,
  documentationDocs,
];
