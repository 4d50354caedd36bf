import { sql } from 'kysely';
import type { Database } from '../database.ts';

/** The file of each mailing, and until when it is kept. */
export interface MailingFile {
  file_name: string;
  /** Null: the mailing is not over, and its file may be read (again). */
  over_at: Date | null;
}

/** Those of the given files that belong to a mailing. A mailing that is over is never read again, whatever is resent. */
export async function findMailingFiles(db: Database, fileNames: readonly string[]): Promise<MailingFile[]> {
  const result = await sql<MailingFile>`
    select file_name, case when status in ('COMPLETED', 'FAILED', 'CANCELLED') then completed_at end as over_at
    from mailings where file_name = any (${fileNames}::text[])`.execute(db);
  return result.rows;
}
