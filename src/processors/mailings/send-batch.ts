import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { HitFailpoint } from '../../failpoints.ts';
import type { Metrics } from '../../metrics.ts';
import type { Database } from '../../store/database.ts';
import type { MailTransport } from '../../store/mail/mail-transport.ts';
import {
  type Advance,
  advanceBatch,
  type BatchClaim,
  type BatchJob,
  beginBatch,
  type ClaimedEntry,
  type EntryOutcome,
  finishBatch,
  releaseBatch,
  returnUnsent,
} from '../../store/mailings/mailing-batches.ts';
import { readMailing } from '../../store/mailings/mailings.ts';
import { type InHand, WakeUp } from './in-hand.ts';
import type { MailLinks } from './links.ts';
import { compileMail, type RenderMail } from './render-mail.ts';
import { type MailPolicy, settleError, settleSent, settleUnwritable } from './settle-mail.ts';

export interface SendingParts {
  db: Database;
  transport: MailTransport;
  links: MailLinks;
  policy: MailPolicy;
  inHand: InHand;
  actor: string;
  log: Logger;
  hitFailpoint: HitFailpoint;
  metrics: Pick<Metrics, 'mails'>;
  /** Aborted when the process is to end: nothing new is claimed from then on. */
  stopping: AbortSignal;
}

export type SendResult =
  /** With the last batch, the mailing is completed. */
  | { kind: 'done'; isCompleted: boolean; jobs: readonly BatchJob[] }
  /** The job is to come back. */
  | { kind: 'later'; delayMs: number }
  /** Nothing is left to do for this job: the mailing is halted, or another worker has the batch. */
  | { kind: 'left' };

/** Waits that are shorter are waited for; for longer ones another batch gets the worker. */
const shortWaitMs = 250;
const countedAs = { SENT: 'sent', FAILED: 'failed', UNKNOWN: 'unknown', PENDING: 'retried' } as const;
/** Postgres is away: soon enough that nothing is held up when it is back. */
const retryPauseMs = 500;
/** How long an answer may wait for others: too short to be noticed, long enough for a quick server to give some. */
const groupingMs = 10;

/** Sends the entries of a batch, each once. Safe to run again after any interruption. */
export async function sendBatch(parts: SendingParts, job: BatchJob['data']): Promise<SendResult> {
  const { mailingId, batch } = job;
  const mailing = await readMailing(parts.db, mailingId);
  if (!mailing) return { kind: 'left' };
  const { resendsDoubtful: resend, retryDelaysMs } = parts.policy;
  const onDoubt = (entries: number) => parts.metrics.mails.count(resend ? 'retried' : 'unknown', entries);
  const doubt = { resend, maxAttempts: retryDelaysMs.length + 1, onDoubt };
  const epoch = await beginBatch(parts.db, job, doubt);
  if (epoch === undefined) return { kind: 'left' };
  const claim = { mailingId, batch, epoch };
  const run = new BatchRun(parts, claim, compileMail(mailing, parts.links));
  const waitMs = await run.run();
  if (run.isHalted) {
    const isReleased = await releaseBatch(parts.db, job);
    return isReleased ? { kind: 'left' } : { kind: 'later', delayMs: 0 };
  }
  if (waitMs !== undefined) return { kind: 'later', delayMs: waitMs };
  const finish = await finishBatch(parts.db, claim, { outboxId: job.outboxId, actor: parts.actor });
  if (finish.state === 'done') return { kind: 'done', isCompleted: finish.isCompleted, jobs: finish.jobs };
  return finish.state === 'later' ? { kind: 'later', delayMs: finish.waitMs } : { kind: 'left' };
}

/** Places among what the process may have in hand. */
interface Room {
  /** Of entries that are settled by the same step. */
  kept: number;
  taken: number;
}

/** One worker's way through a batch: claims what there is room for, sends, settles, until nothing is due any more. */
class BatchRun {
  isHalted = false;
  readonly #parts: SendingParts;
  readonly #claim: BatchClaim;
  readonly #render: RenderMail;
  readonly #wakeUp = new WakeUp();
  /** The lines between their claim and the commit of their outcome. */
  readonly #inHand = new Set<number>();
  #outcomes: EntryOutcome[] = [];
  #after = 0;
  #isThrough = false;
  #waitUntilMs = 0;
  #mayHaveLostClaims = false;
  /** The first answer since the last step waits no longer than until then. */
  #groupingEndsMs = 0;

  constructor(parts: SendingParts, claim: BatchClaim, render: RenderMail) {
    this.#parts = parts;
    this.#claim = claim;
    this.#render = render;
  }

  /** Resolves once nothing is in hand: undefined if the batch was gone through, else how long to stay away from it. */
  async run(): Promise<number | undefined> {
    const unwatch = this.#parts.inHand.watch(this.#wakeUp);
    try {
      while (await this.#step());
    } finally {
      unwatch();
    }
    if (this.#mayHaveLostClaims) await returnUnsent(this.#parts.db, this.#claim, []);
    if (this.#parts.stopping.aborted) return 0;
    const waitMs = Math.ceil(this.#waitUntilMs - performance.now());
    return this.#isThrough || waitMs <= 0 ? undefined : waitMs;
  }

  /** False when there is nothing left to do or to wait for. */
  async #step(): Promise<boolean> {
    // One look at the clock for all that a step decides: if a wait ended between two looks, nobody would wake us.
    const nowMs = performance.now();
    const groupingMsLeft = this.#groupingEndsMs - nowMs;
    if (groupingMsLeft > 0 && this.#expectsMoreAnswers()) {
      await this.#wakeUp.wait(groupingMsLeft);
      return true;
    }
    const waitMs = this.#waitUntilMs - nowMs;
    const room = this.#takeRoom(waitMs);
    if (room.kept + room.taken === 0 && this.#outcomes.length === 0) {
      if (this.#inHand.size === 0 && !this.#wantsMore(waitMs)) return false;
      await this.#wakeUp.wait(waitMs > 0 ? waitMs : undefined);
      return true;
    }
    await this.#advance(room);
    return true;
  }

  /** A step costs nearly the same for one entry as for ten, so the first answers wait for others. */
  #expectsMoreAnswers(): boolean {
    const answers = this.#outcomes.length;
    return answers > 0 && answers < this.#parts.inHand.groupSize && answers < this.#inHand.size;
  }

  /**
   * Places for what is claimed next: those of the answered entries that this batch may keep, since they are settled in
   * the same step, and free ones, up to half of all.
   */
  #takeRoom(waitMs: number): Room {
    const none = { kept: 0, taken: 0 };
    const { inHand } = this.#parts;
    if (!this.#wantsMore(waitMs) || waitMs > 0) return none;
    // The next answer brings a step anyway.
    if (this.#outcomes.length === 0 && this.#inHand.size > 0 && inHand.free < inHand.groupSize) return none;
    const unanswered = this.#inHand.size - this.#outcomes.length;
    const kept = Math.max(0, Math.min(inHand.share - unanswered, this.#outcomes.length));
    return { kept, taken: inHand.take(Math.ceil(inHand.limit / 2) - unanswered - kept) };
  }

  /** A long wait counts as the end: the batch comes back later. */
  #wantsMore(waitMs: number): boolean {
    return !this.#isThrough && !this.isHalted && waitMs <= shortWaitMs && !this.#parts.stopping.aborted;
  }

  async #advance({ kept, taken }: Room): Promise<void> {
    const { db, inHand, log } = this.#parts;
    const outcomes = this.#outcomes;
    this.#outcomes = [];
    let result: Advance;
    try {
      result = await advanceBatch(db, this.#claim, { outcomes, after: this.#after, limit: kept + taken });
    } catch (error) {
      log.warn({ err: error, ...this.#claim }, 'a batch could not be written; trying again');
      // Whether the commit went through, nobody knows: outcomes may be written twice, and claims may be nobody's.
      this.#outcomes = [...outcomes, ...this.#outcomes];
      this.#mayHaveLostClaims ||= kept + taken > 0;
      inHand.release(taken);
      await pause(retryPauseMs);
      return;
    }
    for (const { line, status } of outcomes) {
      this.#inHand.delete(line);
      this.#parts.metrics.mails.count(countedAs[status]);
    }
    this.#parts.hitFailpoint('mail.settled');
    const claimed = this.#read(result);
    for (const entry of claimed) this.#send(entry);
    inHand.release(outcomes.length + taken - claimed.length);
  }

  #read(result: Advance): readonly ClaimedEntry[] {
    if (result.state === 'claimed') {
      this.#after = result.after;
      return result.entries;
    }
    if (result.state === 'end') this.#isThrough = true;
    if (result.state === 'wait') this.#waitUntilMs = performance.now() + result.waitMs;
    if (result.state === 'halted') this.isHalted = true;
    if (result.state === 'lost') this.#isThrough = true;
    return [];
  }

  #send(entry: ClaimedEntry): void {
    this.#inHand.add(entry.line);
    void this.#converse(entry).then((outcome) => {
      if (this.#outcomes.push(outcome) === 1) this.#groupingEndsMs = performance.now() + groupingMs;
      this.#wakeUp.call();
    });
  }

  /** Never rejects: whatever happens, the outcome says it. */
  async #converse(entry: ClaimedEntry): Promise<EntryOutcome> {
    const { transport, policy, hitFailpoint, metrics } = this.#parts;
    try {
      hitFailpoint('mail.claimed');
      const message = this.#render(entry);
      const startedMs = performance.now();
      try {
        const { externalId } = await transport.send(message);
        metrics.mails.observe(performance.now() - startedMs);
        hitFailpoint('mail.answered');
        return settleSent(entry, externalId);
      } catch (error) {
        metrics.mails.observe(performance.now() - startedMs);
        return settleError(entry, error, policy);
      }
    } catch (error) {
      return settleUnwritable(entry, error);
    }
  }
}
