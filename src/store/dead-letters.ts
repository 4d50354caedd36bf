import type { Selectable } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import type { Instant, Json } from './columns.ts';
import type { DatabaseTransaction } from './database.ts';
import type { RecordError, RecordRow } from './records.ts';

/**
 * One row for each operation, or mail of an entry, that gave up and was not tried again since. The error here is for
 * operators and may name internals.
 */
export interface DeadLettersTable {
  id: string;
  record_id: string;
  client: string;
  sub_client: string;
  operation: string;
  key: string | null;
  generation: number;
  /** Of an entry of a mailing: its line in the file. */
  line: number | null;
  attempts: number;
  error: Json<RecordError>;
  created_at: Instant;
}

export type DeadLetterRow = Selectable<DeadLettersTable>;

export async function addDeadLetter(tx: DatabaseTransaction, record: RecordRow, error: RecordError): Promise<string> {
  const id = uuidv7();
  await tx
    .insertInto('dead_letters')
    .values({
      id,
      record_id: record.id,
      client: record.client,
      sub_client: record.sub_client,
      operation: record.operation,
      key: record.key,
      generation: record.generation,
      line: null,
      attempts: record.attempts,
      error: JSON.stringify(error),
    })
    .execute();
  return id;
}

/** The record runs again, so it is no dead letter any more. Why it failed stays in its audit trail. */
export async function removeDeadLetterOf(tx: DatabaseTransaction, recordId: string): Promise<void> {
  await tx.deleteFrom('dead_letters').where('record_id', '=', recordId).where('line', 'is', null).execute();
}

export async function deleteDeadLetter(tx: DatabaseTransaction, id: string): Promise<DeadLetterRow | undefined> {
  return await tx.deleteFrom('dead_letters').where('id', '=', id).returningAll().executeTakeFirst();
}
