import type { Instant, Json } from './columns.ts';

/** What happened, written by finish_records in the transaction that caused it. The id is made of the cause. */
export interface EventsTable {
  id: string;
  type: string;
  client: string;
  record_id: string;
  data: Json<unknown>;
  created_at: Instant;
}
