import type { Migration } from 'kysely';
import * as records from './0001_records.ts';
import * as apiKeys from './0002_api_keys.ts';
import * as ledger from './0003_ledger.ts';
import * as recordFunctions from './0004_record_functions.ts';
import * as transferFunctions from './0005_transfer_functions.ts';
import * as customers from './0006_customers.ts';
import * as proposals from './0007_proposals.ts';
import * as dedup from './0008_dedup.ts';
import * as webhooks from './0009_webhooks.ts';
import * as alerts from './0010_alerts.ts';
import * as notifications from './0011_notifications.ts';
import * as mailings from './0012_mailings.ts';
import * as mailingFunctions from './0013_mailing_functions.ts';
import * as mailingQueueing from './0014_mailing_queueing.ts';
import * as housekeeping from './0015_housekeeping.ts';
import * as auditChain from './0016_audit_chain.ts';
import * as auditChainFunctions from './0017_audit_chain_functions.ts';
import * as invariants from './0018_invariants.ts';
import * as sendTraces from './0019_send_traces.ts';
import * as admin from './0020_admin.ts';

/** In order. A released migration is never changed; a new one is added. */
export const migrations: Record<string, Migration> = {
  '0001_records': records,
  '0002_api_keys': apiKeys,
  '0003_ledger': ledger,
  '0004_record_functions': recordFunctions,
  '0005_transfer_functions': transferFunctions,
  '0006_customers': customers,
  '0007_proposals': proposals,
  '0008_dedup': dedup,
  '0009_webhooks': webhooks,
  '0010_alerts': alerts,
  '0011_notifications': notifications,
  '0012_mailings': mailings,
  '0013_mailing_functions': mailingFunctions,
  '0014_mailing_queueing': mailingQueueing,
  '0015_housekeeping': housekeeping,
  '0016_audit_chain': auditChain,
  '0017_audit_chain_functions': auditChainFunctions,
  '0018_invariants': invariants,
  '0019_send_traces': sendTraces,
  '0020_admin': admin,
};
