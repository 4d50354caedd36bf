import { z } from 'zod';
import { instant } from '../processors/fields.ts';
import { type listAudit, trailEndings } from '../store/audit.ts';
import { recordStatuses } from '../store/records.ts';

const hash = z.hex().nullable();

export const auditEntrySchema = z
  .strictObject({
    at: instant,
    from: z.enum(recordStatuses).nullable(),
    to: z.enum([...recordStatuses, ...trailEndings]),
    actor: z.string(),
    epoch: z.int().describe('Grows with each claim by a worker.'),
    detail: z.unknown(),
    hash: hash.describe('Of this entry and the hash before it; null where it could tell what is hidden.'),
    prevHash: hash.describe('The hash of the entry before; null in the first one.'),
  })
  .meta({ id: 'AuditEntry' });

type AuditRow = Awaited<ReturnType<typeof listAudit>>[number];

/** The trail of a record, as its client sees it or as an operator does. */
export function auditTrailView(
  rows: readonly AuditRow[],
  { isOperator }: { isOperator: boolean },
): z.infer<typeof auditEntrySchema>[] {
  // From a hash, what is hidden could be guessed and the guess confirmed.
  const showsHashes = isOperator || !rows.some((row) => hasInternals(row.detail));
  return rows.map((row) => ({
    at: row.at.toISOString(),
    from: row.from_status,
    to: row.to_status,
    actor: row.actor,
    epoch: row.epoch,
    detail: isOperator ? row.detail : withoutInternals(row.detail),
    hash: showsHashes ? row.hash.toString('hex') : null,
    prevHash: showsHashes ? (row.prev_hash?.toString('hex') ?? null) : null,
  }));
}

/** Why an attempt failed is in the words of whatever threw, and may tell of hosts and queries. Notes are for colleagues. */
const internals = ['error', 'note'];

function withoutInternals(detail: unknown): unknown {
  if (!hasInternals(detail)) return detail;
  return Object.fromEntries(Object.entries(detail).filter(([name]) => !internals.includes(name)));
}

function hasInternals(detail: unknown): detail is object {
  return typeof detail === 'object' && detail !== null && internals.some((name) => name in detail);
}
