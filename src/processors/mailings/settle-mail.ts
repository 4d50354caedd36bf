import { MailError } from '../../store/mail/mail-error.ts';
import type { ClaimedEntry, EntryOutcome } from '../../store/mailings/mailing-batches.ts';

export interface MailPolicy {
  /** Pauses before attempts 2, 3, … of an entry. */
  retryDelaysMs: readonly number[];
  /** What is in doubt is sent again, with the same Message-ID. Otherwise it stays UNKNOWN until a person decides. */
  resendsDoubtful: boolean;
}

/** "Slow down", and not "this address is wrong": the mailing waits, and no attempt is used up. */
const throttlingCodes = new Set([421, 450, 454]);
/** A server that says "later" to one address this often means "never". With the pauses it is half an hour or more. */
const maxThrottles = 30;
/** "No such mailbox". Other refusals for good are about the mail or the sender, and the next mailing may be welcome. */
const bounceCodes = new Set([550, 551, 553]);
/** After the server asked for patience. The mailing as a whole waits as well. */
const throttledPauseMs = 5_000;

export function settleSent(entry: ClaimedEntry, externalId: string): EntryOutcome {
  return { ...base(entry), status: 'SENT', external_id: externalId };
}

/** What follows from a mail that was not confirmed. */
export function settleError(entry: ClaimedEntry, error: unknown, policy: MailPolicy): EntryOutcome {
  const outcome = { ...base(entry), error: messageOf(error) };
  const pauseMs = policy.retryDelaysMs[entry.attempts - 1];
  const later = { ...outcome, status: 'PENDING', retry_in_ms: pauseMs ?? null } as const;
  const failed = { ...outcome, status: 'FAILED' } as const;
  if (!(error instanceof MailError) || error.outcome === 'unknown') {
    return policy.resendsDoubtful && pauseMs !== undefined ? later : { ...outcome, status: 'UNKNOWN' };
  }
  const { responseCode: code, stage } = error;
  if (stage === 'compose') return failed;
  // No answer at all, or none to a greeting or a login: that is about the server, and no address is to blame.
  const isServerAway = code === undefined || stage === 'connect';
  if (isServerAway || (throttlingCodes.has(code) && entry.throttles < maxThrottles)) {
    return { ...outcome, status: 'PENDING', retry_in_ms: isServerAway ? 0 : throttledPauseMs, is_throttled: true };
  }
  if (code >= 500) return { ...failed, is_bounced: stage === 'rcpt' && bounceCodes.has(code) };
  return pauseMs === undefined ? failed : later;
}

/** It never came to the conversation: the mail could not even be written. */
export function settleUnwritable(entry: ClaimedEntry, error: unknown): EntryOutcome {
  return { ...base(entry), status: 'FAILED', error: messageOf(error) };
}

function base({ line, epoch }: ClaimedEntry) {
  return {
    line,
    epoch,
    external_id: null,
    error: null,
    retry_in_ms: null,
    is_throttled: false,
    is_bounced: false,
  };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message.slice(0, 500) : 'unknown error';
}
