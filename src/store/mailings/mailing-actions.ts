import { sql } from 'kysely';
import type { Database, DatabaseTransaction } from '../database.ts';
import { addStayingToOutbox, type StayingJob } from '../outbox.ts';
import { type BatchJob, completeMailing, queueBatches } from './mailing-batches.ts';
import { addMailingHistory } from './mailing-history.ts';
import type { MailingRow, MailingStatus } from './mailings.ts';

/** What a person does to a mailing. */
export interface MailingAction {
  client: string;
  id: string;
  actor: string;
}

export type ActionJob = BatchJob | StayingJob;

export type ActionResult =
  | { kind: 'done'; jobs: readonly ActionJob[] }
  | { kind: 'refused'; status: MailingStatus }
  | { kind: 'missing' };

const unfinished: readonly MailingStatus[] = ['QUEUED', 'INGESTING', 'SENDING', 'PAUSED'];

export const mailingsQueue = 'mailings';

/** A job that reads the file. Each has an id of its own, so that a mailing can be halted and resumed at will. */
export async function queueIngest(tx: DatabaseTransaction, mailingId: string): Promise<StayingJob> {
  return await addStayingToOutbox(tx, { queue: mailingsQueue, name: 'ingest', about: mailingId, data: { mailingId } });
}

/** Nothing new is begun from now on; what is on its way to a mail server is finished. */
export async function pauseMailing(db: Database, action: MailingAction): Promise<ActionResult> {
  return await change(db, action, async (tx, mailing) => {
    if (mailing.status === 'PAUSED') return [];
    if (!unfinished.includes(mailing.status)) return 'refused';
    await setStatus(tx, mailing, 'PAUSED', action);
    return [];
  });
}

export async function resumeMailing(db: Database, action: MailingAction): Promise<ActionResult> {
  return await change(db, action, async (tx, mailing) => {
    if (mailing.status !== 'PAUSED') return unfinished.includes(mailing.status) ? [] : 'refused';
    await setStatus(tx, mailing, mailing.ingested_at ? 'SENDING' : 'QUEUED', action);
    if (!mailing.ingested_at) return [await queueIngest(tx, mailing.id)];
    await completeMailing(tx, mailing.id, action.actor);
    return await queueBatches(tx, mailing.id);
  });
}

export async function cancelMailing(db: Database, action: MailingAction): Promise<ActionResult> {
  return await change(db, action, async (tx, mailing) => {
    if (mailing.status === 'CANCELLED') return [];
    if (!unfinished.includes(mailing.status)) return 'refused';
    await setStatus(tx, mailing, 'CANCELLED', action);
    await sql`update mailings set completed_at = clock_timestamp() where id = ${mailing.id}::uuid`.execute(tx);
    return [];
  });
}

/** Entries of one status get another. */
interface EntryChange {
  from: 'FAILED' | 'UNKNOWN';
  to: 'PENDING' | 'SENT' | 'FAILED';
  /** All of them unless some are named. */
  lines?: readonly number[] | undefined;
  note: string;
}

/** A person decides about entries: those that failed are sent again, those in doubt too, or it is said what became of them. */
export async function changeEntries(
  db: Database,
  action: MailingAction,
  entries: EntryChange,
): Promise<ActionResult & { changed: number }> {
  let changed = 0;
  const apply = async (tx: DatabaseTransaction, mailing: MailingRow): Promise<readonly ActionJob[] | 'refused'> => {
    const resends = entries.to === 'PENDING';
    if (mailing.ingested_at === null || (resends && mailing.status === 'CANCELLED')) return 'refused';
    changed = await moveEntries(tx, mailing.id, entries);
    if (changed === 0) return [];
    const detail = { entries: changed, from: entries.from, to: entries.to, note: entries.note };
    if (!resends || mailing.status !== 'COMPLETED') {
      await addMailingHistory(tx, {
        mailingId: mailing.id,
        from: mailing.status,
        to: mailing.status,
        actor: action.actor,
        detail,
      });
      return resends ? await queueBatches(tx, mailing.id) : [];
    }
    await setStatus(tx, mailing, 'SENDING', action, detail);
    await sql`update mailings set completed_at = null where id = ${mailing.id}::uuid`.execute(tx);
    return await queueBatches(tx, mailing.id);
  };
  const result = await change(db, action, apply, (tx) => lockBatches(tx, action.id));
  return { ...result, changed };
}

/** Workers lock their batch and then the mailing. Whoever needs both keeps to that order. */
async function lockBatches(tx: DatabaseTransaction, mailingId: string): Promise<void> {
  await sql`select 1 from mailing_batches where mailing_id = ${mailingId}::uuid order by batch for update`.execute(tx);
}

/** An entry that is sent again keeps its Message-ID, begins its attempts anew, and leaves the dead letters. */
async function moveEntries(tx: DatabaseTransaction, mailingId: string, change: EntryChange): Promise<number> {
  const count = sql.ref(`b.${change.from.toLowerCase()}`);
  const lines = change.lines ?? null;
  const result = await sql<{ moved: number }>`
    with moved as (
      update mailing_entries e set status = ${change.to}, next_attempt_at = null,
        attempts = case when ${change.to} = 'PENDING' then 0 else e.attempts end,
        throttles = 0, last_error = ${change.note},
        sent_at = case when ${change.to} = 'SENT' then clock_timestamp() end
      from mailing_batches b
      where b.mailing_id = ${mailingId}::uuid and ${count} > 0
        and (${lines}::integer[] is null or exists (
          select 1 from unnest(${lines}::integer[]) as l (line) where l.line between b.from_line and b.to_line))
        and e.mailing_id = b.mailing_id and e.line between b.from_line and b.to_line
        and (${lines}::integer[] is null or e.line = any (${lines}::integer[])) and e.status = ${change.from}
      returning b.batch, e.line
    ), unburied as (
      delete from dead_letters d using moved
      where d.record_id = ${mailingId}::uuid and d.line = moved.line and ${change.to} <> 'FAILED'
    ), counts as (
      select batch, count(*)::integer as moved from moved group by batch
    ), counted as (
      update mailing_batches b set
        failed = b.failed + case ${change.to} when 'FAILED' then c.moved else 0 end
          - case ${change.from} when 'FAILED' then c.moved else 0 end,
        unknown = b.unknown - case ${change.from} when 'UNKNOWN' then c.moved else 0 end,
        pending = b.pending + case ${change.to} when 'PENDING' then c.moved else 0 end,
        sent = b.sent + case ${change.to} when 'SENT' then c.moved else 0 end,
        is_done = b.is_done and ${change.to} <> 'PENDING'
      from counts c, mailing_batches before
      where b.mailing_id = ${mailingId}::uuid and b.batch = c.batch
        and before.mailing_id = b.mailing_id and before.batch = b.batch
      returning before.is_done and not b.is_done as reopened
    ), reopened as (
      update mailings set open_batches = open_batches + (select count(*) from counted where reopened)
      where id = ${mailingId}::uuid
    )
    select coalesce(sum(moved), 0)::integer as moved from counts`.execute(tx);
  return result.rows[0]?.moved ?? 0;
}

async function setStatus(
  tx: DatabaseTransaction,
  mailing: MailingRow,
  status: MailingStatus,
  action: MailingAction,
  detail?: unknown,
): Promise<void> {
  await tx.updateTable('mailings').set({ status }).where('id', '=', mailing.id).execute();
  await addMailingHistory(tx, {
    mailingId: mailing.id,
    from: mailing.status,
    to: status,
    actor: action.actor,
    ...(detail !== undefined && { detail }),
  });
}

async function change(
  db: Database,
  action: MailingAction,
  apply: (tx: DatabaseTransaction, mailing: MailingRow) => Promise<readonly ActionJob[] | 'refused'>,
  prepare?: (tx: DatabaseTransaction) => Promise<unknown>,
): Promise<ActionResult> {
  return await db.transaction().execute(async (tx): Promise<ActionResult> => {
    await prepare?.(tx);
    const mailing = await tx
      .selectFrom('mailings')
      .selectAll()
      .where('id', '=', action.id)
      .where('client', '=', action.client)
      .forUpdate()
      .executeTakeFirst();
    if (!mailing) return { kind: 'missing' };
    const jobs = await apply(tx, mailing);
    return jobs === 'refused' ? { kind: 'refused', status: mailing.status } : { kind: 'done', jobs };
  });
}
