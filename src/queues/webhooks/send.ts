import { type IncomingMessage, type RequestOptions, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { type TargetGuard, TargetRefused } from './target-guard.ts';

export interface Attempt {
  url: string;
  headers: Record<string, string>;
  body: string;
  timeoutMs: number;
}

export type AttemptOutcome =
  | { kind: 'delivered'; status: number }
  /** The receiver wants no more of it. */
  | { kind: 'gone'; status: number }
  | { kind: 'failed'; status: number | null; error: string };

/** Nothing in a reply is used but its status, so this is only politeness towards the receiver. */
const maxReplyBytes = 64 * 1024;

/** One attempt. It never throws: what went wrong is in the outcome, in words that the webhook's owner may read. */
export async function sendAttempt(guard: TargetGuard, attempt: Attempt): Promise<AttemptOutcome> {
  // The time counts for all of it: resolving, connecting, sending and the whole reply.
  const signal = AbortSignal.timeout(attempt.timeoutMs);
  try {
    const url = new URL(attempt.url);
    guard.checkLiteral(url);
    const reply = await post(url, guard, attempt, signal);
    const status = reply.statusCode ?? 0;
    await drain(reply);
    return outcomeOf(status);
  } catch (error) {
    return { kind: 'failed', status: null, error: describe(error, signal, attempt.timeoutMs) };
  }
}

function outcomeOf(status: number): AttemptOutcome {
  if (status >= 200 && status < 300) return { kind: 'delivered', status };
  if (status === 410) return { kind: 'gone', status };
  const error = status >= 300 && status < 400 ? 'Redirects are not followed.' : `The receiver answered ${status}.`;
  return { kind: 'failed', status, error };
}

function post(url: URL, guard: TargetGuard, attempt: Attempt, signal: AbortSignal): Promise<IncomingMessage> {
  const options: RequestOptions = {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(attempt.body),
      'user-agent': 'Semel-Webhooks/1',
      ...attempt.headers,
    },
    lookup: guard.lookup,
    // A connection of its own for each attempt: its address has just been checked.
    agent: false,
    signal,
  };
  return new Promise((resolve, reject) => {
    const request = url.protocol === 'https:' ? requestHttps(url, options) : requestHttp(url, options);
    request.on('response', resolve);
    request.on('error', reject);
    request.end(attempt.body);
  });
}

/** Reads the reply to its end, its limit or the end of the time. Its status counts, however the rest ends. */
async function drain(reply: IncomingMessage): Promise<void> {
  let bytes = 0;
  await new Promise<void>((resolve) => {
    reply.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > maxReplyBytes) reply.destroy();
    });
    // Cut off by the limit, by the time or by the receiver: the status is known all the same.
    reply.on('error', () => resolve());
    reply.on('close', () => resolve());
  });
}

function describe(error: unknown, signal: AbortSignal, timeoutMs: number): string {
  if (signal.aborted) return `There was no answer within ${timeoutMs} ms.`;
  if (error instanceof TargetRefused) return error.message;
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'an unknown error';
  return `The request failed: ${code}.`;
}
