import { type Generated, type Selectable, sql } from 'kysely';
import type { Instant, NullableInstant } from './columns.ts';
import type { Database } from './database.ts';

export const deliveryStatuses = ['PENDING', 'DELIVERED', 'FAILED'] as const;
export type DeliveryStatus = (typeof deliveryStatuses)[number];

export interface WebhookDeliveriesTable {
  id: string;
  webhook_id: string;
  event_id: string;
  type: string;
  /** The text that every attempt sends. */
  body: string;
  status: Generated<DeliveryStatus>;
  attempts: Generated<number>;
  next_attempt_at: NullableInstant;
  last_status: number | null;
  last_error: string | null;
  created_at: Instant;
  delivered_at: NullableInstant;
}

export type WebhookDeliveryRow = Selectable<WebhookDeliveriesTable>;

export interface NewDelivery {
  id: string;
  webhook_id: string;
  event_id: string;
  type: string;
  body: string;
}

/** A delivery to attempt now, with what is needed of its webhook. */
export interface ClaimedDelivery {
  id: string;
  webhook_id: string;
  event_id: string;
  body: string;
  attempts: number;
  url: string;
  secret_version: number;
  /** The oldest version that signs at this moment. */
  oldest_signing_version: number;
}

/** Adds what is not there yet. A webhook that is deleted or disabled meanwhile gets nothing: the lock makes one wait. */
export async function addDeliveries(db: Database, deliveries: readonly NewDelivery[]): Promise<void> {
  await sql`
    insert into webhook_deliveries (id, webhook_id, event_id, type, body)
    select r.id, w.id, r.event_id, r.type, r.body
    from jsonb_to_recordset(${JSON.stringify(deliveries)}::jsonb)
      as r (id uuid, webhook_id uuid, event_id text, type text, body text)
    join webhooks w on w.id = r.webhook_id and w.disabled_at is null
    for share of w
    on conflict (webhook_id, event_id) do nothing`.execute(db);
}

/**
 * Takes deliveries that are due and pushes their next attempt away by the lease, in one statement: no lock is held
 * while the network is used, and what a dead process had taken comes back by itself. No webhook gets more than its
 * share, so that one which hangs does not hold up the others.
 */
export async function claimDeliveries(
  db: Database,
  claim: { limit: number; perWebhook: number; leaseMs: number; busyWebhookIds: readonly string[] },
): Promise<ClaimedDelivery[]> {
  const result = await sql<ClaimedDelivery>`
    with candidates as materialized (
      select id, webhook_id from webhook_deliveries
      where status = 'PENDING' and next_attempt_at <= now() and webhook_id <> all (${claim.busyWebhookIds}::uuid[])
      order by next_attempt_at limit 500
    ), fair as (
      select id, row_number() over (partition by webhook_id) as place from candidates
    ), due as (
      select d.id from webhook_deliveries d join fair on fair.id = d.id
      where fair.place <= ${claim.perWebhook} and d.status = 'PENDING' and d.next_attempt_at <= now()
      order by d.next_attempt_at limit ${claim.limit} for update of d skip locked
    )
    update webhook_deliveries d set attempts = d.attempts + 1,
      next_attempt_at = now() + make_interval(secs => ${claim.leaseMs / 1000})
    from due, webhooks w where d.id = due.id and w.id = d.webhook_id
    returning d.id, d.webhook_id, d.event_id, d.body, d.attempts, w.url, w.secret_version,
      case when w.old_secrets_until > now() then w.signing_since_version else w.secret_version end
        as oldest_signing_version`.execute(db);
  return result.rows;
}

/** It has arrived, whoever else may be trying as well. */
export async function noteDelivered(db: Database, claimed: ClaimedDelivery, status: number): Promise<void> {
  await sql`
    with delivered as (
      update webhook_deliveries set status = 'DELIVERED', delivered_at = now(), next_attempt_at = null,
        last_status = ${status}, last_error = null
      where id = ${claimed.id}::uuid and status <> 'DELIVERED'
    )
    update webhooks set failing_since = null
    where id = ${claimed.webhook_id}::uuid and failing_since is not null`.execute(db);
}

export interface FailedAttempt {
  lastStatus: number | null;
  lastError: string;
  /** Null: this was the last attempt. */
  retryAfterMs: number | null;
}

/** Plans the next attempt or gives up. Nothing happens if the lease ran out and another process has it by now. */
export async function noteFailedAttempt(db: Database, claimed: ClaimedDelivery, failed: FailedAttempt): Promise<void> {
  await sql`
    with failed as (
      update webhook_deliveries set status = case when ${failed.retryAfterMs}::float8 is null then 'FAILED' else 'PENDING' end,
        next_attempt_at = now() + make_interval(secs => ${failed.retryAfterMs}::float8 / 1000),
        last_status = ${failed.lastStatus}::smallint, last_error = ${failed.lastError}
      where id = ${claimed.id}::uuid and status = 'PENDING' and attempts = ${claimed.attempts}
    )
    update webhooks set failing_since = now()
    where id = ${claimed.webhook_id}::uuid and failing_since is null`.execute(db);
}

/** Disables a webhook and gives up what is still to be sent to it. With `failingForMs`, only if it has failed for so long. */
export async function disableWebhook(
  db: Database,
  webhookId: string,
  { reason, failingForMs = 0 }: { reason: string; failingForMs?: number },
): Promise<boolean> {
  return await db.transaction().execute(async (tx) => {
    const disabled = await sql`
      update webhooks set disabled_at = now(), disabled_reason = ${reason}
      where id = ${webhookId}::uuid and disabled_at is null
        and failing_since <= now() - make_interval(secs => ${failingForMs / 1000})
      returning id`.execute(tx);
    if (disabled.rows.length === 0) return false;
    // A statement of its own: it sees what was added while the one before waited for its lock.
    await sql`
      update webhook_deliveries set status = 'FAILED', next_attempt_at = null, last_error = coalesce(last_error, ${reason})
      where webhook_id = ${webhookId}::uuid and status = 'PENDING'`.execute(tx);
    return true;
  });
}

/** Newest first. `before` is the last id of the page before. */
export async function listDeliveries(
  db: Database,
  webhookId: string,
  page: { limit: number; before: string | undefined },
): Promise<WebhookDeliveryRow[]> {
  let query = db.selectFrom('webhook_deliveries').selectAll().where('webhook_id', '=', webhookId);
  if (page.before) query = query.where('id', '<', page.before);
  return await query.orderBy('id', 'desc').limit(page.limit).execute();
}
