import type { AccountsTable } from './accounts.ts';
import type { AlertsTable } from './alerts.ts';
import type { ApiKeysTable } from './api-keys.ts';
import type { AuditTable } from './audit.ts';
import type { ConsumerGroupsTable } from './consumer-groups.ts';
import type { CustomersTable } from './customers.ts';
import type { DeadLettersTable } from './dead-letters.ts';
import type { DedupTable } from './dedup.ts';
import type { EventsTable } from './events.ts';
import type { MovementsTable } from './movements.ts';
import type { OutboxTable } from './outbox.ts';
import type { ProposalsTable } from './proposals.ts';
import type { RecordsTable } from './records.ts';
import type { TransfersTable } from './transfers.ts';
import type { WebhookDeliveriesTable } from './webhook-deliveries.ts';
import type { WebhooksTable } from './webhooks.ts';

export interface Schema {
  accounts: AccountsTable;
  alerts: AlertsTable;
  api_keys: ApiKeysTable;
  audit: AuditTable;
  consumer_groups: ConsumerGroupsTable;
  customers: CustomersTable;
  dead_letters: DeadLettersTable;
  dedup: DedupTable;
  events: EventsTable;
  movements: MovementsTable;
  outbox: OutboxTable;
  proposals: ProposalsTable;
  records: RecordsTable;
  transfers: TransfersTable;
  webhook_deliveries: WebhookDeliveriesTable;
  webhooks: WebhooksTable;
}
