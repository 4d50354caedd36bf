import { type Selectable, sql } from 'kysely';
import type { Instant, Json } from './columns.ts';
import type { Database, DatabaseTransaction } from './database.ts';
import type { RecordRow } from './records.ts';

/** What happened, written by finish_records in the transaction that caused it. The id is made of the cause. */
export interface EventsTable {
  id: string;
  type: string;
  client: string;
  record_id: string;
  data: Json<unknown>;
  created_at: Instant;
}

export type EventRow = Selectable<EventsTable>;

export async function findEvent(db: Database, id: string): Promise<EventRow | undefined> {
  return await db.selectFrom('events').selectAll().where('id', '=', id).executeTakeFirst();
}

/** Events of a record that is settled in another way than by finish_records, under the same ids as there. */
export async function addEvents(
  tx: DatabaseTransaction,
  record: RecordRow,
  drafts: readonly { type: string; data: unknown }[],
): Promise<void> {
  if (drafts.length === 0) return;
  await sql`
    insert into events (id, type, client, record_id, data)
    select ${record.id}::text || '.' || ${record.generation}::integer || '.' || n, e ->> 'type', ${record.client},
      ${record.id}::uuid, e -> 'data'
    from jsonb_array_elements(${JSON.stringify(drafts)}::jsonb) with ordinality as list (e, n)`.execute(tx);
}
