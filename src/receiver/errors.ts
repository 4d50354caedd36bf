import type { DedupKey } from './dedup-store.ts';

/** Everything that the receiver itself throws. What a handler throws is passed on as it is. */
export abstract class ReceiverError extends Error {
  abstract readonly code: string;

  override get name(): string {
    return this.constructor.name;
  }
}

/** Another delivery of the message is being handled. Try again: later there will be a result, or the id is free. */
export class InFlightElsewhereError extends ReceiverError {
  readonly code = 'IN_FLIGHT_ELSEWHERE';
  readonly key: DedupKey;
  /** After this time at the latest the id is free again, unless its holder is alive and prolongs it. */
  readonly freeInMs: number;

  constructor(key: DedupKey, freeInMs: number) {
    super(`Message ${nameOf(key)} is in flight elsewhere.`);
    this.key = key;
    this.freeInMs = freeInMs;
  }
}

/** The store did not answer, or not in time. Nothing is lost if the message is delivered again later. */
export class StoreAwayError extends ReceiverError {
  readonly code = 'STORE_AWAY';
  readonly key: DedupKey;
  /** True: the handler has done its work, but that could not be recorded. The next delivery may do it again. */
  readonly handlerRan: boolean;

  constructor(key: DedupKey, { handlerRan, cause }: { handlerRan: boolean; cause: unknown }) {
    const consequence = handlerRan ? 'what its handler did is not recorded' : 'its handler was not run';
    super(`The store is away while message ${nameOf(key)} is received: ${consequence}.`, { cause });
    this.key = key;
    this.handlerRan = handlerRan;
  }
}

/** The handler took longer than its lease, could not prolong it, and another delivery has taken the id meanwhile. */
export class LeaseLostError extends ReceiverError {
  readonly code = 'LEASE_LOST';
  readonly key: DedupKey;

  constructor(key: DedupKey) {
    super(`Message ${nameOf(key)} was taken over by another delivery; this result is not kept.`);
    this.key = key;
  }
}

/** The message has nothing to be recognised by. */
export class MissingIdError extends ReceiverError {
  readonly code = 'MISSING_ID';
}

/**
 * The handler did its work, but its result cannot be stored. The id counts as done, so that the work is not done
 * again; everyone who asks gets this error.
 */
export class UnstorableResultError extends ReceiverError {
  readonly code = 'UNSTORABLE_RESULT';
  readonly reason: 'too-big' | 'not-json';
  readonly maxResultBytes: number;

  constructor(reason: 'too-big' | 'not-json', maxResultBytes: number) {
    super(
      reason === 'too-big'
        ? `The message was handled, but its result is larger than the ${maxResultBytes} bytes that are kept.`
        : 'The message was handled, but its result cannot be written as JSON.',
    );
    this.reason = reason;
    this.maxResultBytes = maxResultBytes;
  }
}

function nameOf({ namespace, id }: DedupKey): string {
  return `${namespace}/${id}`;
}
