import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import { addAudit } from '../../src/store/audit.ts';
import type { Database } from '../../src/store/database.ts';
import { claimRecords, finishRecords, requeueRecord, submitRecords } from '../../src/store/records.ts';

export interface TrailOptions {
  id?: string;
  key?: string;
  actor?: string;
  /** How often an attempt fails before one succeeds; each is two rows. */
  failures?: number;
  detail?: unknown;
}

/** A settled record with a trail of 3 + 2 × failures rows, made by the functions that the service uses. */
export async function makeTrail(db: Database, options: TrailOptions = {}): Promise<string> {
  const { id = uuidv7(), key = randomUUID(), actor = 'test', failures = 1, detail = { attempt: 1 } } = options;
  await submitRecords(db, [newRecord({ id, key, actor })]);
  for (let attempt = 0; attempt < failures; attempt += 1) await failAttempt(db, id, actor, detail);
  await db.transaction().execute(async (tx) => {
    const [claim] = await claimRecords(tx, [id], actor);
    if (!claim) throw new Error('the record cannot be claimed');
    await finishRecords(tx, [outcomeOf(id, claim.epoch, detail)], actor);
  });
  return id;
}

/** A claim and, in a transaction of its own, its return. Whoever comes late finds the claim lost. */
export async function failAttempt(db: Database, id: string, actor: string, detail: unknown): Promise<void> {
  const [claim] = await db.transaction().execute((tx) => claimRecords(tx, [id], actor));
  if (!claim) return;
  await db.transaction().execute(async (tx) => {
    const record = await requeueRecord(tx, claim, { delayMs: 0, countsAsAttempt: true });
    if (record) await addAudit(tx, record, { from: 'PROCESSING', actor, detail });
  });
}

export function newRecord({ id, key, actor }: { id: string; key: string; actor: string }) {
  const where = { client: 'default', sub_client: '', operation: 'account.open', queue: 'operations', job_id: id };
  const rest = { fingerprint: 'f', request: {}, outbox_id: uuidv7(), reply_to: null, relay_after_ms: 0 };
  return { id, key, actor, ...where, ...rest };
}

export function outcomeOf(id: string, epoch: number, detail: unknown) {
  const nothing = { response_body: null, error: null, resource_type: null, resource_id: null, events: [] };
  return { id, epoch, status: 'SUCCEEDED' as const, response_status: 200, ttl_seconds: 60, detail, ...nothing };
}

/** What only somebody with all rights over the database can do: the table no longer guards its rows. */
export async function unguardAudit(db: Database): Promise<void> {
  await sql`drop trigger audit_keeps_rows on audit`.execute(db);
  await sql`drop trigger records_end_trails on records`.execute(db);
  await sql`alter table audit drop constraint audit_hash_fits`.execute(db);
}
