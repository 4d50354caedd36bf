import type { ErrorCode } from '../errors.ts';
import type { Http } from './http.ts';
import { KeyedLines } from './keyed-lines.ts';
import { readLines } from './read-lines.ts';
import { errorOfProblem, SemelError } from './semel-error.ts';
import type { CallOptions, Operation } from './types.ts';

export interface BulkLine {
  operation: string;
  /** Made by the client if it is left out. */
  key?: string;
  request: unknown;
}

export type BulkOutcome =
  | { line: number; key: string; operationId: string; status: Operation['status']; created: boolean }
  | { line: number; key: string; code: ErrorCode; detail: string };

/** Without a single answer for this long, the connection is given up. */
const silenceMs = 60_000;

/**
 * Sends lines and yields what became of each, in order. Lines are taken from the source as fast as outcomes are
 * consumed. When the connection breaks, whatever has no outcome is sent again with the same key.
 */
export async function* sendBulk(
  http: Http,
  lines: AsyncIterable<BulkLine> | Iterable<BulkLine>,
  options: CallOptions,
): AsyncGenerator<BulkOutcome> {
  const source = new KeyedLines(lines);
  try {
    let patience = http.patience(options);
    while (!source.isDone) {
      try {
        for await (const outcome of converse(http, source, options.signal)) {
          yield outcome;
          patience = http.patience(options);
        }
      } catch (error) {
        options.signal?.throwIfAborted();
        source.throwIfFailed();
        if (error instanceof SemelError && !passing.has(error.code)) throw error;
        if (!(await patience.pause(error instanceof BusyError ? error.retryAfterSeconds : 0))) throw error;
      }
    }
  } finally {
    await source.close();
  }
}

const passing: ReadonlySet<string> = new Set(['UNAVAILABLE', 'RATE_LIMITED', 'UNREACHABLE', 'UNREADABLE_ANSWER']);

/** A line, and so all after it, is to come again later. */
class BusyError extends Error {
  readonly retryAfterSeconds: number;
  constructor(retryAfterSeconds: number) {
    super('the service takes no more lines for now');
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** One connection: lines go out while outcomes come in. */
async function* converse(http: Http, source: KeyedLines, signal: AbortSignal | undefined): AsyncGenerator<BulkOutcome> {
  const ended = new AbortController();
  const signals = [ended.signal, ...(signal ? [signal] : [])];
  const silence = setTimeout(() => ended.abort(), silenceMs);
  try {
    const response = await http.open('/v1/operations/bulk', {
      method: 'POST',
      headers: { 'content-type': 'application/x-ndjson' },
      body: source.toStream(),
      duplex: 'half',
      signal: AbortSignal.any(signals),
    });
    if (!response.ok || !response.body) throw errorOfProblem(response.status, await response.text());
    for await (const text of readLines(response.body)) {
      silence.refresh();
      const answer = JSON.parse(text) as BulkOutcome & { retryAfterSeconds?: number };
      if ('code' in answer && passing.has(answer.code)) throw new BusyError(answer.retryAfterSeconds ?? 1);
      const { line, key } = source.acknowledge();
      yield { ...answer, line, key };
    }
    if (!source.isDone) throw new SemelError('UNREACHABLE', 'the stream of answers ended early');
  } finally {
    clearTimeout(silence);
    ended.abort();
  }
}
