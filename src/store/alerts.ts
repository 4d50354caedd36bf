import { type Selectable, sql } from 'kysely';
import type { Instant, NullableInstant } from './columns.ts';
import type { Database, DatabaseTransaction } from './database.ts';

/** Gathered (PENDING, no mail yet), then SENDING with a Message-ID, PENDING with it after a refusal, and SENT. */
export interface AlertsTable {
  event_id: string;
  client: string;
  record_id: string;
  operation: string;
  code: string;
  status: 'PENDING' | 'SENDING' | 'SENT';
  message_id: string | null;
  attempts: number;
  /** Of a mail: when it may be tried again. While it is SENDING, that is when its mailer is taken for dead. */
  next_attempt_at: NullableInstant;
  external_id: string | null;
  last_error: string | null;
  created_at: Instant;
  sent_at: NullableInstant;
}

export type AlertRow = Selectable<AlertsTable>;
export type NewAlert = Pick<AlertRow, 'event_id' | 'client' | 'record_id' | 'operation' | 'code'>;

/** One mail with everything it tells. */
export interface AlertMail {
  messageId: string;
  attempts: number;
  alerts: AlertRow[];
}

export interface AlertTiming {
  /** How old the oldest alert must be before a mail is made of all that are there. */
  gatherMs: number;
  /** How long after a mail the next one is made at the earliest. */
  pauseMs: number;
  /** How long a mailer may take before it is taken for dead. */
  leaseMs: number;
}

/** More would make a mail that takes long to claim; the rest goes into the next one. */
const maxAlertsPerMail = 10_000;

/** An arbitrary number that all mailers agree on: one at a time decides about mails. */
const turnLock = 7_350_210;

/** An alert of an event that is known already changes nothing. */
export async function insertAlert(db: Database, alert: NewAlert): Promise<void> {
  await sql`
    insert into alerts (event_id, client, record_id, operation, code)
    values (${alert.event_id}, ${alert.client}, ${alert.record_id}::uuid, ${alert.operation}, ${alert.code})
    on conflict (event_id) do nothing`.execute(db);
}

/** Commits which alerts are in the mail and its Message-ID, before anybody speaks to a mail server. */
export async function claimAlertMail(
  db: Database,
  newMessageId: string,
  timing: AlertTiming,
): Promise<AlertMail | undefined> {
  return await db.transaction().execute(async (tx) => {
    const turn = await sql<{ mine: boolean }>`select pg_try_advisory_xact_lock(${turnLock}) as mine`.execute(tx);
    if (!turn.rows[0]?.mine) return undefined;
    const alerts = await claimAgain(tx, timing);
    return toMail(alerts.length > 0 ? alerts : await claimGathered(tx, newMessageId, timing));
  });
}

/** A mail that was refused, or whose mailer died. It stays the same mail: the same alerts, the same Message-ID. */
async function claimAgain(tx: DatabaseTransaction, timing: AlertTiming): Promise<AlertRow[]> {
  const result = await sql<AlertRow>`
    update alerts set status = 'SENDING', attempts = attempts + 1,
      next_attempt_at = now() + make_interval(secs => ${timing.leaseMs / 1000})
    where status <> 'SENT' and message_id = (
      select message_id from alerts where status <> 'SENT' and next_attempt_at <= now()
      order by next_attempt_at limit 1)
    returning *`.execute(tx);
  return result.rows;
}

/** A new mail of all that nobody was told of. While another is on its way they wait, and are gathered meanwhile. */
async function claimGathered(tx: DatabaseTransaction, messageId: string, timing: AlertTiming): Promise<AlertRow[]> {
  const result = await sql<AlertRow>`
    update alerts set status = 'SENDING', attempts = 1, message_id = ${messageId},
      next_attempt_at = now() + make_interval(secs => ${timing.leaseMs / 1000})
    where event_id in (
      select event_id from alerts where status = 'PENDING' and message_id is null
      order by created_at limit ${maxAlertsPerMail} for update skip locked)
    and exists (
      select from alerts where status = 'PENDING' and message_id is null
        and created_at <= now() - make_interval(secs => ${timing.gatherMs / 1000}))
    and not exists (select from alerts where status <> 'SENT' and message_id is not null)
    and not exists (
      select from alerts where status = 'SENT' and sent_at > now() - make_interval(secs => ${timing.pauseMs / 1000}))
    returning *`.execute(tx);
  return result.rows;
}

function toMail(alerts: AlertRow[]): AlertMail | undefined {
  const [first] = alerts;
  if (!first?.message_id) return undefined;
  // The same order in every attempt, so that it is the same mail.
  const sorted = alerts.toSorted(
    (a, b) => a.created_at.getTime() - b.created_at.getTime() || (a.event_id < b.event_id ? -1 : 1),
  );
  return { messageId: first.message_id, attempts: first.attempts, alerts: sorted };
}

export async function markAlertMailSent(db: Database, mail: AlertMail, externalId: string): Promise<void> {
  await changeMail(db, async (tx) => {
    await sql`
      update alerts set status = 'SENT', sent_at = now(), external_id = ${externalId}, last_error = null
      where message_id = ${mail.messageId} and status <> 'SENT'`.execute(tx);
  });
}

/** PENDING if it was certainly not sent, SENDING if nobody knows. A mailer that was taken for dead changes nothing. */
export async function putOffAlertMail(
  db: Database,
  mail: AlertMail,
  later: { status: 'PENDING' | 'SENDING'; delayMs: number; error: string },
): Promise<void> {
  await changeMail(db, async (tx) => {
    await sql`
      update alerts set status = ${later.status}, last_error = ${later.error},
        next_attempt_at = now() + make_interval(secs => ${later.delayMs / 1000})
      where message_id = ${mail.messageId} and status <> 'SENT' and attempts = ${mail.attempts}`.execute(tx);
  });
}

/** Waits for its turn, so that it never meets a claim of the same rows in another order. */
async function changeMail(db: Database, change: (tx: DatabaseTransaction) => Promise<void>): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await sql`select pg_advisory_xact_lock(${turnLock})`.execute(tx);
    await change(tx);
  });
}
