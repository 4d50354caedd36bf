import { Patience } from './patience.ts';
import { errorOfProblem, SemelError } from './semel-error.ts';
import type { Answer, CallOptions, ClientOptions } from './types.ts';

export interface Call extends CallOptions {
  method: string;
  path: string;
  headers?: Record<string, string>;
  body?: string | FormData;
  /** Sent again after a broken connection. Safe for whatever has a key or may happen twice. */
  isRepeatable?: boolean;
  /** A 202 means that the result is to come: the same request, with its key, is sent again until it is there. */
  waits?: boolean;
}

const defaultTimeoutMs = 60_000;
/** How long the service is asked to wait for a result before it says 202. */
const waitSeconds = 10;
/** What an answer may take on its way, beside the time that it waits. */
const answerTravelMs = 250;
/** For an answer that waits for nothing. */
const answerTimeoutMs = 30_000;
/** Nothing was done under these, or it is under way: the same request is welcome again. */
const passingStatuses = new Set([429, 502, 503, 504]);

/** Sends requests until they are answered for good. */
export class Http {
  readonly url: string;
  readonly #fetch: typeof fetch;
  readonly #timeoutMs: number;
  readonly #headers: Record<string, string>;

  constructor({ url, apiKey, clientId, timeoutMs = defaultTimeoutMs, fetch: given = fetch }: ClientOptions) {
    this.url = url.replace(/\/+$/, '');
    this.#fetch = given;
    this.#timeoutMs = timeoutMs;
    this.#headers = { authorization: `Bearer ${apiKey}`, ...(clientId !== undefined && { 'x-client-id': clientId }) };
  }

  patience(options: CallOptions): Patience {
    return new Patience(options.timeoutMs ?? this.#timeoutMs, options.signal);
  }

  async call<T>(call: Call): Promise<Answer<T>> {
    const patience = this.patience(call);
    let taken: SemelError | undefined;
    for (;;) {
      const tried = await this.#try<T>(call, patience);
      if (tried.kind === 'answered') return tried.answer;
      if (tried.kind === 'pending') {
        taken = tried.error;
        patience.renew();
      }
      // An operation that was taken stays taken, whatever became of the requests after that.
      if (!(await patience.pause(tried.retryAfterSeconds))) throw taken ?? tried.error;
    }
  }

  /** One request as it is, with the headers that every request has. */
  async open(path: string, init: RequestInit & { headers?: Record<string, string> }): Promise<Response> {
    return await this.#fetch(`${this.url}${path}`, { ...init, headers: { ...this.#headers, ...init.headers } });
  }

  async #try<T>(call: Call, patience: Patience): Promise<Tried<T>> {
    const { method, path, body, waits = false } = call;
    const headers = { ...(waits && { prefer: `wait=${waitFor(patience)}` }), ...call.headers };
    const signal = patience.signalFor(answerTimeoutMs + (waits ? waitSeconds * 1000 : 0));
    let response: Response;
    let text: string;
    try {
      response = await this.open(path, { method, headers, signal, ...(body !== undefined && { body }) });
      text = await response.text();
    } catch (cause) {
      call.signal?.throwIfAborted();
      const error = new SemelError('UNREACHABLE', `no answer from ${this.url}`, { effect: 'unknown', cause });
      if (call.isRepeatable === false) throw error;
      return { kind: 'failed', error, retryAfterSeconds: 0 };
    }
    return judge(response, text, waits);
  }
}

type Tried<T> =
  | { kind: 'answered'; answer: Answer<T> }
  | { kind: 'failed' | 'pending'; error: SemelError; retryAfterSeconds: number };

function judge<T>(response: Response, text: string, waits: boolean): Tried<T> {
  const { status, headers } = response;
  const operationId = headers.get('operation-id') ?? undefined;
  if (waits && status === 202) {
    const detail = 'the operation was taken and is still at work';
    const error = new SemelError('TIMED_OUT', detail, { status, operationId, effect: 'unknown' });
    return { kind: 'pending', error, retryAfterSeconds: 0 };
  }
  if (response.ok) {
    const isReplay = headers.get('idempotent-replayed') === 'true';
    return { kind: 'answered', answer: { status, operationId, isReplay, body: parseBody<T>(status, text) } };
  }
  const error = errorOfProblem(status, text);
  if (!passingStatuses.has(status) && error.code !== 'OPERATION_IN_PROGRESS') throw error;
  const retryAfterSeconds = Number(headers.get('retry-after') ?? 0);
  return { kind: 'failed', error, retryAfterSeconds: Number.isFinite(retryAfterSeconds) ? retryAfterSeconds : 0 };
}

function parseBody<T>(status: number, text: string): T {
  if (text === '') return undefined as T;
  try {
    return JSON.parse(text) as T;
  } catch (cause) {
    throw new SemelError('UNREADABLE_ANSWER', `the answer with status ${status} is no JSON`, { status, cause });
  }
}

/** Whole seconds, and so few that the answer comes before the time is up. */
function waitFor(patience: Patience): number {
  return Math.max(0, Math.min(waitSeconds, Math.floor((patience.leftMs - answerTravelMs) / 1000)));
}
