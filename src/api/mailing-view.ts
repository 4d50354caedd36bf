import type { MailingEntryRow } from '../store/mailings/mailing-entries.ts';
import type { MailingHistoryRow } from '../store/mailings/mailing-history.ts';
import type { MailingWithTotals } from '../store/mailings/mailings.ts';

/** A mailing as its owner sees it. */
export function mailingView(mailing: MailingWithTotals) {
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

export function entryView(entry: MailingEntryRow) {
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

export function historyView(row: MailingHistoryRow) {
  return { at: row.at.toISOString(), from: row.from_status, to: row.to_status, actor: row.actor, detail: row.detail };
}
