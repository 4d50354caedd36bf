import { z } from 'zod';
import { id, instant } from '../processors/fields.ts';
import { entryStatuses, invalidReasons, type MailingEntryRow } from '../store/mailings/mailing-entries.ts';
import type { MailingHistoryRow } from '../store/mailings/mailing-history.ts';
import { type MailingWithTotals, mailingStatuses } from '../store/mailings/mailings.ts';

const status = z.enum(mailingStatuses);

export const uploadedMailingSchema = z
  .strictObject({
    mailingId: id,
    filename: z.string(),
    status,
    created: z.boolean().describe('Whether this upload made the mailing.'),
    matchedBy: z
      .enum(['filename', 'content', 'key'])
      .optional()
      .describe('How it was recognised, if it was there before.'),
  })
  .meta({ id: 'UploadedMailing' });

export const mailingSchema = z
  .strictObject({
    id,
    filename: z.string(),
    status,
    subject: z.string(),
    from: z.string(),
    ratePerSecond: z.int().nullable(),
    totals: z.strictObject({
      lines: z.int().describe('Rows of the file that were read so far.'),
      entries: z.int(),
      invalid: z.int(),
      duplicates: z.int(),
      suppressed: z.int(),
      pending: z.int(),
      sent: z.int(),
      failed: z.int(),
      unknown: z.int().describe('Mails of which nobody can tell whether the server took them.'),
    }),
    failure: z
      .strictObject({ code: z.string(), message: z.string(), line: z.int().optional() })
      .nullable()
      .describe('Why the file could not be read to its end.'),
    lastError: z.string().nullable(),
    throttledUntil: instant.nullable(),
    createdAt: instant,
    startedAt: instant.nullable(),
    completedAt: instant.nullable(),
  })
  .meta({ id: 'Mailing' });

export const entrySchema = z
  .strictObject({
    line: z.int(),
    email: z.string().nullable(),
    status: z.enum(entryStatuses),
    attempts: z.int(),
    externalId: z.string().nullable().describe('The id under which the mail server took it.'),
    invalidReason: z.enum(invalidReasons).nullable(),
    text: z.string().nullable().describe('Of an invalid row: what the file says.'),
    lastError: z.string().nullable(),
    nextAttemptAt: instant.nullable(),
    sentAt: instant.nullable(),
    verifiedAt: instant.nullable(),
  })
  .meta({ id: 'MailingEntry' });

export const historySchema = z
  .strictObject({ at: instant, from: status.nullable(), to: status, actor: z.string(), detail: z.unknown() })
  .meta({ id: 'MailingChange' });

/** A mailing as its owner sees it. */
export function mailingView(mailing: MailingWithTotals): z.infer<typeof mailingSchema> {
  return {
    id: mailing.id,
    filename: mailing.filename,
    status: mailing.status,
    subject: mailing.subject,
    from: mailing.sender,
    ratePerSecond: mailing.rate_per_second,
    totals: {
      lines: mailing.lines,
      entries: mailing.lines - mailing.duplicates,
      invalid: mailing.invalid,
      duplicates: mailing.duplicates,
      suppressed: mailing.suppressed,
      // To the outside, what is on its way to the mail server right now is still to come.
      pending: mailing.pending + mailing.sending,
      sent: mailing.sent,
      failed: mailing.failed,
      unknown: mailing.unknown,
    },
    failure: mailing.failure,
    lastError: mailing.last_error,
    throttledUntil: mailing.throttled_until?.toISOString() ?? null,
    createdAt: mailing.created_at.toISOString(),
    startedAt: mailing.started_at?.toISOString() ?? null,
    completedAt: mailing.completed_at?.toISOString() ?? null,
  };
}

export function entryView(entry: MailingEntryRow): z.infer<typeof entrySchema> {
  return {
    line: entry.line,
    email: entry.email ?? entry.raw,
    status: entry.status,
    attempts: entry.attempts,
    externalId: entry.external_id,
    invalidReason: entry.invalid_reason,
    text: entry.raw,
    lastError: entry.last_error,
    nextAttemptAt: entry.next_attempt_at?.toISOString() ?? null,
    sentAt: entry.sent_at?.toISOString() ?? null,
    verifiedAt: entry.verified_at?.toISOString() ?? null,
  };
}

export function historyView(row: MailingHistoryRow): z.infer<typeof historySchema> {
  return { at: row.at.toISOString(), from: row.from_status, to: row.to_status, actor: row.actor, detail: row.detail };
}
