import type { ErrorCode } from '../errors.ts';

export interface EventDraft {
  type: string;
  data: unknown;
}

export interface Succeeded {
  kind: 'succeeded';
  status: number;
  body: unknown;
  resource?: { type: string; id: string };
  events?: readonly EventDraft[];
}

export interface Rejected<Code extends ErrorCode = ErrorCode> {
  kind: 'rejected';
  code: Code;
  detail: string;
  extra?: Record<string, unknown>;
  events?: readonly EventDraft[];
}

export interface RetryLater {
  kind: 'retry-later';
  delayMs: number;
}

/** What `process` may return. A throw is a failure and is tried again. */
export type ProcessOutcome<Code extends ErrorCode = ErrorCode> = Succeeded | Rejected<Code> | RetryLater;

export function succeeded(status: number, body: unknown, more: Pick<Succeeded, 'resource' | 'events'> = {}): Succeeded {
  return { kind: 'succeeded', status, body, ...more };
}

/** A business rule says no. It is an outcome like any other: stored, replayed, never tried again. */
export function rejected<Code extends ErrorCode>(
  code: Code,
  detail: string,
  more: Pick<Rejected, 'extra' | 'events'> = {},
): Rejected<Code> {
  return { kind: 'rejected', code, detail, ...more };
}

/** Not now, and nobody's fault: the job comes back after the delay without using up an attempt. */
export function retryLater(delayMs: number): RetryLater {
  return { kind: 'retry-later', delayMs };
}

/**
 * Thrown by `process` of an operation with an external effect that certainly did not happen, such as a connection that
 * was refused. It counts as a failed attempt, and the next one follows after the usual pause.
 */
export class NothingHappened extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'NothingHappened';
  }
}
