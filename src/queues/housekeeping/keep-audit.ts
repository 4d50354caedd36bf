import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { trimAudit } from '../../store/audit.ts';
import { type Database, isTransient } from '../../store/database.ts';
import { ensureAuditPartitions } from '../../store/migrate.ts';

export interface AuditParts {
  db: Database;
  log: Logger;
  auditRetentionDays: number;
}

const dayMs = 86_400_000;
/** Dropping locks the whole table, and gives up if somebody holds it. A minute of tries finds a gap between long ones. */
const tries = 6;
const pauseMs = 10_000;

/** Makes the partitions of the months to come, and drops the months that are wholly older than the retention. */
export async function keepAudit(
  { db, log, auditRetentionDays }: AuditParts,
  signal: AbortSignal,
): Promise<Record<string, number>> {
  await ensureAuditPartitions(db);
  const before = new Date(Date.now() - auditRetentionDays * dayMs);
  for (let attempt = 1; ; attempt += 1) {
    try {
      const until = await trimAudit(db, before);
      if (until) log.info({ until }, 'the audit trail before this time was dropped');
      return { trimmed: until ? 1 : 0 };
    } catch (error) {
      if (attempt === tries || signal.aborted || !isTransient(error)) throw error;
    }
    await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
  }
}
