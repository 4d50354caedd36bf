import { z } from 'zod';
import { id, instant } from '../processors/fields.ts';
import type { AdminActionRow } from '../store/admin-actions.ts';
import { type ApiKeyRow, scopes } from '../store/api-keys.ts';
import type { ListedDeadLetter } from '../store/dead-letter-queries.ts';
import type { RecordRow } from '../store/records.ts';
import type { Caller } from './api-env.ts';
import { auditEntrySchema } from './audit-view.ts';
import { effectSchema, operationSchema, operationView } from './operation-view.ts';

const subClient = z.string().nullable();

export const adminRecordSchema = operationSchema
  .extend({
    client: z.string(),
    subClient,
    generation: z.int().describe('Grows each time that it begins anew.'),
    epoch: z.int().describe('Grows with each claim by a worker.'),
    nextAttemptAt: instant.nullable(),
  })
  .meta({ id: 'Record' });

export const auditedRecordSchema = adminRecordSchema
  .extend({ audit: z.array(auditEntrySchema) })
  .meta({ id: 'RecordWithAudit' });

export const deadLetterSchema = z
  .strictObject({
    id: z.guid(),
    client: z.string(),
    subClient,
    operation: z.string(),
    operationId: id.optional().describe('Of an operation.'),
    key: z.string().nullable().optional(),
    mailingId: id.optional().describe('Of a mail.'),
    line: z.int().optional(),
    attempts: z.int(),
    error: z.looseObject({ code: z.string(), message: z.string() }),
    createdAt: instant,
    currentStatus: z.string().nullable().describe('Of the record or the entry; null if it is gone.'),
    effect: effectSchema,
    retryable: z.boolean(),
  })
  .meta({ id: 'DeadLetter' });

const count = z.int().min(0);

/** What a retry of many would do. */
export const dryRunSchema = z
  .strictObject({
    dryRun: z.literal(true),
    matching: count,
    wouldRun: count,
    effects: z.strictObject({ applied: count, not_applied: count, unknown: count }),
    byOperation: z.array(z.strictObject({ operation: z.string(), effect: effectSchema, wouldRun: z.boolean(), count })),
    items: z.array(deadLetterSchema).describe('The newest hundred.'),
  })
  .meta({ id: 'RetryDryRun' });

export const apiKeySchema = z
  .strictObject({
    id,
    client: z.string(),
    scopes: z.array(z.enum(scopes)),
    createdAt: instant,
    lastUsedAt: instant.nullable().describe('Exact to about ten seconds.'),
    revokedAt: instant.nullable(),
  })
  .meta({ id: 'ApiKey' });

export const adminActionSchema = z
  .strictObject({
    id,
    at: instant,
    actor: z.string().describe('`admin:<client>:<id of the API key>`'),
    action: z.string(),
    subject: z.string().nullable().describe('The id of what it was done to.'),
    detail: z.unknown(),
  })
  .meta({ id: 'AdminAction' });

/** Who an operator is in traces. */
export function adminActorOf({ client, keyId }: Caller): string {
  return `admin:${client}:${keyId}`;
}

/** An operation as operators see it: whose it is, and how often it ran. */
export function adminRecordView(record: RecordRow): z.infer<typeof adminRecordSchema> {
  const { id, ...operation } = operationView(record);
  return {
    id,
    client: record.client,
    subClient: record.sub_client === '' ? null : record.sub_client,
    ...operation,
    generation: record.generation,
    epoch: record.epoch,
    nextAttemptAt: record.next_attempt_at?.toISOString() ?? null,
  };
}

/** What gave up: an operation, or the mail of a line of a mailing. */
export function deadLetterSubject({ record_id: id, key, line }: ListedDeadLetter) {
  return line === null ? { operationId: id, key } : { mailingId: id, line };
}

export function deadLetterView(letter: ListedDeadLetter): z.infer<typeof deadLetterSchema> {
  return {
    id: letter.id,
    client: letter.client,
    subClient: letter.sub_client === '' ? null : letter.sub_client,
    operation: letter.operation,
    ...deadLetterSubject(letter),
    attempts: letter.attempts,
    error: { ...letter.error },
    createdAt: letter.created_at.toISOString(),
    currentStatus: letter.status,
    effect: letter.effect,
    retryable: letter.retryable,
  };
}

export function apiKeyView(key: ApiKeyRow): z.infer<typeof apiKeySchema> {
  return {
    id: key.id,
    client: key.client,
    scopes: key.scopes,
    createdAt: key.created_at.toISOString(),
    lastUsedAt: key.last_used_at?.toISOString() ?? null,
    revokedAt: key.revoked_at?.toISOString() ?? null,
  };
}

export function adminActionView(row: AdminActionRow): z.infer<typeof adminActionSchema> {
  const { actor, action, subject, detail } = row;
  return { id: row.id, at: row.at.toISOString(), actor, action, subject, detail };
}
