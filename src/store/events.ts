import type { Selectable } from 'kysely';
import type { Instant, Json } from './columns.ts';
import type { Database } from './database.ts';

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
