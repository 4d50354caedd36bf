import type { Database } from '../../store/database.ts';
import type { FileStorage } from '../../store/files/file-storage.ts';
import { findMailingFiles } from '../../store/mailings/mailing-files.ts';
import { batchSize } from './in-batches.ts';

const hourMs = 3_600_000;
/** An upload takes an hour at most, so what has not grown for two belongs to a process that was killed. */
const unfinishedMs = 2 * hourMs;
/** A week: long enough to notice that a database was restored from an old backup, or is the wrong one. */
export const orphanedMs = 7 * 24 * hourMs;
/** Thirty days after its mailing is over, a file is only a list of addresses that nobody needs. */
export const overMs = 30 * 24 * hourMs;
/** What an upload names its file. A folder or a bucket may hold what others put there. */
const uploadedName = /^mailings\/[0-9a-f-]{36}\.csv$/;

/** Removes drafts of killed processes, files that belong to no mailing, and files of mailings that are long over. */
export async function removeFiles(
  { db, storage }: { db: Database; storage: FileStorage },
  signal: AbortSignal,
  nowMs = Date.now(),
): Promise<Record<string, number>> {
  const unfinished = await storage.removeUnfinished(new Date(nowMs - unfinishedMs));
  const counts = { unfinished, orphaned: 0, over: 0 };
  let names: string[] = [];
  const removeNames = async () => {
    const files = new Map((await findMailingFiles(db, names)).map((file) => [file.file_name, file.over_at]));
    for (const name of names) {
      const overAt = files.get(name);
      // Undefined: nobody's. Null: its mailing may still need it.
      if (overAt === null || (overAt && overAt.getTime() > nowMs - overMs)) continue;
      await storage.remove(name);
      counts[overAt ? 'over' : 'orphaned'] += 1;
    }
    names = [];
  };
  for await (const { name, modifiedAt } of storage.list()) {
    if (signal.aborted) return counts;
    if (!uploadedName.test(name) || modifiedAt.getTime() > nowMs - orphanedMs) continue;
    names.push(name);
    if (names.length === batchSize) await removeNames();
  }
  await removeNames();
  return counts;
}
