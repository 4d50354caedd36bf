import { type Generated, type Selectable, sql } from 'kysely';
import type { Instant, NullableInstant } from './columns.ts';
import type { Database, DatabaseTransaction } from './database.ts';

export interface WebhooksTable {
  id: string;
  client: string;
  url: string;
  events: string[];
  secret_version: Generated<number>;
  /** Until `old_secrets_until`, the versions from this one on sign as well. */
  signing_since_version: Generated<number>;
  old_secrets_until: NullableInstant;
  /** When the first of the failures came that no success has followed yet. */
  failing_since: NullableInstant;
  disabled_at: NullableInstant;
  disabled_reason: string | null;
  created_at: Instant;
}

export type WebhookRow = Selectable<WebhooksTable>;

export async function insertWebhook(
  tx: DatabaseTransaction,
  webhook: { id: string; client: string; url: string; events: string[] },
): Promise<WebhookRow> {
  return await tx
    .insertInto('webhooks')
    .values({ ...webhook, disabled_reason: null })
    .returningAll()
    .executeTakeFirstOrThrow();
}

export async function findWebhook(db: Database, client: string, id: string): Promise<WebhookRow | undefined> {
  return await db
    .selectFrom('webhooks')
    .selectAll()
    .where('id', '=', id)
    .where('client', '=', client)
    .executeTakeFirst();
}

/** Newest first. `before` is the last id of the page before. */
export async function listWebhooks(
  db: Database,
  client: string,
  page: { limit: number; before: string | undefined },
): Promise<WebhookRow[]> {
  let query = db.selectFrom('webhooks').selectAll().where('client', '=', client);
  if (page.before) query = query.where('id', '<', page.before);
  return await query.orderBy('id', 'desc').limit(page.limit).execute();
}

/** The enabled webhooks of a client that want events of the type. */
export async function listSubscribers(db: Database, client: string, type: string): Promise<{ id: string }[]> {
  return await db
    .selectFrom('webhooks')
    .select('id')
    .where('client', '=', client)
    .where('disabled_at', 'is', null)
    .where(sql<boolean>`${type} = any (events)`)
    .execute();
}

/** Its deliveries go with it. False if there is none. */
export async function deleteWebhook(db: Database, client: string, id: string): Promise<boolean> {
  const deleted = await db.deleteFrom('webhooks').where('id', '=', id).where('client', '=', client).executeTakeFirst();
  return deleted.numDeletedRows > 0n;
}

/**
 * Begins the next version of the secret. Those before it go on signing for the overlap: all that still do, so that a
 * rotation which is sent twice does not end the one secret that the receiver knows. At most `maxSigning` sign at once.
 */
export async function rotateSecret(
  db: Database,
  webhook: { client: string; id: string },
  { overlapMs, maxSigning }: { overlapMs: number; maxSigning: number },
): Promise<WebhookRow | undefined> {
  const result = await sql<WebhookRow>`
    update webhooks set secret_version = secret_version + 1,
      signing_since_version = greatest(secret_version + 2 - ${maxSigning}::integer,
        case when old_secrets_until > now() then signing_since_version else secret_version end),
      old_secrets_until = now() + make_interval(secs => ${overlapMs / 1000})
    where id = ${webhook.id}::uuid and client = ${webhook.client}
    returning *`.execute(db);
  return result.rows[0];
}
