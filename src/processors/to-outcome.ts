import type { Outcome, RecordRow } from '../store/records.ts';
import type { Rejected, Succeeded } from './outcomes.ts';

/** How an outcome of `process` is written to the record. */
export function toOutcome(record: RecordRow, outcome: Succeeded | Rejected, ttlSeconds: number): Outcome {
  const base = {
    id: record.id,
    epoch: record.epoch,
    events: outcome.events ?? [],
    ttl_seconds: ttlSeconds,
    response_status: null,
    response_body: null,
    error: null,
    resource_type: null,
    resource_id: null,
    detail: null,
  };
  if (outcome.kind === 'rejected') {
    const error = { code: outcome.code, message: outcome.detail, ...(outcome.extra && { extra: outcome.extra }) };
    return { ...base, status: 'REJECTED', error, detail: { code: outcome.code } };
  }
  return {
    ...base,
    status: 'SUCCEEDED',
    response_status: outcome.status,
    response_body: JSON.stringify(outcome.body),
    resource_type: outcome.resource?.type ?? null,
    resource_id: outcome.resource?.id ?? null,
  };
}
