import { z } from 'zod';
import type { Effect } from '../errors.ts';
import { id, instant } from '../processors/fields.ts';
import { type RecordRow, type RecordStatus, recordStatuses } from '../store/records.ts';

export const effectSchema = z
  .enum(['applied', 'not_applied', 'unknown'] satisfies Effect[])
  .meta({ id: 'Effect', description: 'What became of the effect, as far as anyone can tell.' });

export const operationSchema = z
  .strictObject({
    id,
    operation: z.string(),
    key: z.string().nullable(),
    status: z.enum(recordStatuses),
    attempts: z.int(),
    replays: z.int().describe('How often the answer was given again.'),
    createdAt: instant,
    updatedAt: instant,
    expiresAt: instant.nullable().describe('Until when the key gives this answer, once it is final.'),
    result: z.unknown().optional().describe('The body of the answer, if it succeeded.'),
    error: z.looseObject({ code: z.string(), message: z.string() }).optional(),
    effect: effectSchema,
    resource: z.strictObject({ type: z.string(), id, href: z.string().nullable() }).optional(),
  })
  .meta({ id: 'Operation' });

/** What became of the effect in each state. While a worker is at it, nobody outside the transaction can tell. */
const effects: Record<RecordStatus, Effect> = {
  QUEUED: 'not_applied',
  PROCESSING: 'unknown',
  SUCCEEDED: 'applied',
  REJECTED: 'not_applied',
  FAILED: 'not_applied',
  UNKNOWN: 'unknown',
};

export function effectOf(status: RecordStatus): Effect {
  return effects[status];
}

/** Where the resources of each type are found. */
const hrefs: Record<string, (id: string) => string> = {
  account: (id) => `/v1/accounts/${id}`,
  customer: (id) => `/v1/customers/${id}`,
  mailing: (id) => `/v1/mailings/${id}`,
  proposal: (id) => `/v1/proposals/${id}`,
  transfer: (id) => `/v1/transfers/${id}`,
  webhook: (id) => `/v1/webhooks/${id}`,
};

/** An operation as its owner sees it. */
export function operationView(record: RecordRow): z.infer<typeof operationSchema> {
  const { resource_type: type, resource_id: resourceId, error } = record;
  return {
    id: record.id,
    operation: record.operation,
    key: record.key,
    status: record.status,
    attempts: record.attempts,
    replays: record.replays,
    createdAt: record.created_at.toISOString(),
    updatedAt: record.updated_at.toISOString(),
    expiresAt: record.expires_at?.toISOString() ?? null,
    ...(record.response_body !== null && { result: JSON.parse(record.response_body) as unknown }),
    ...(error && { error: { code: error.code, message: error.message, ...error.extra } }),
    effect: effectOf(record.status),
    ...(type !== null &&
      resourceId !== null && { resource: { type, id: resourceId, href: hrefs[type]?.(resourceId) ?? null } }),
  };
}
