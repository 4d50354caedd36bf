import { addAudit } from '../store/audit.ts';
import { removeDeadLetterOf } from '../store/dead-letters.ts';
import { addToOutbox } from '../store/outbox.ts';
import { findRecords, type RecordRow, reviveRecord, type SubmittedRecord } from '../store/records.ts';
import { jobIdOf } from '../store/scoped-key.ts';
import { relayAfterMs } from './enqueue.ts';
import { operationsQueue } from './queues.ts';
import type { SubmitParts } from './submit.ts';

export interface Revived {
  record: SubmittedRecord;
  enqueued: boolean;
  /** True if another request was faster and this one attaches to it. */
  duplicate: boolean;
}

/** The key of a failed record was sent again: it runs again, as its next generation. */
export async function reviveFailed(
  parts: Pick<SubmitParts, 'db' | 'enqueuer'>,
  failed: RecordRow,
  replyTo: string | undefined,
): Promise<Revived> {
  const data = { recordId: failed.id, ...(replyTo !== undefined && { replyTo }) };
  const revived = await parts.db.transaction().execute(async (tx) => {
    const record = await reviveRecord(tx, failed);
    if (!record) return undefined;
    await addAudit(tx, record, {
      from: 'FAILED',
      actor: `client:${record.client}`,
      detail: { generation: record.generation },
    });
    await removeDeadLetterOf(tx, record.id);
    const jobId = jobIdOf(record);
    const row = { queue: operationsQueue, name: record.operation, jobId, data, delayMs: relayAfterMs };
    return { record, jobId, outboxId: await addToOutbox(tx, row) };
  });
  if (!revived) return await attachToFaster(parts, failed);
  const job = { name: revived.record.operation, jobId: revived.jobId, data };
  const enqueued = await parts.enqueuer.enqueue({ queue: operationsQueue, outboxId: revived.outboxId, job });
  return { record: { ...revived.record, created: false }, enqueued, duplicate: false };
}

/** Another request revived it first. It may even be settled again by now. */
async function attachToFaster(parts: Pick<SubmitParts, 'db'>, failed: RecordRow): Promise<Revived> {
  const [record = failed] = await findRecords(parts.db, [failed.id]);
  return { record: { ...record, created: false }, enqueued: true, duplicate: true };
}
