import { StartError } from '../start/start-error.ts';
import { detailOf, type Service } from './find-service.ts';
import type { Row } from './row.ts';

export interface LineAnswer {
  readonly line: number;
  readonly operationId?: string;
  readonly created?: boolean;
  readonly code?: string;
  readonly detail?: string;
  readonly retryAfterSeconds?: number;
}

/** The service cannot be reached, or is not up to it right now. */
export class NotNow extends Error {
  readonly retryAfterMs: number | undefined;

  constructor(message: string, retryAfterMs?: number) {
    super(message);
    this.retryAfterMs = retryAfterMs;
  }
}

/** The service says something about each line within this time, or the connection is a dead one. */
const silenceMs = 60_000;

/** Sends rows in one request and hands on each answer as it comes. Those that got none may be sent again. */
export async function sendBatch(
  service: Service,
  batch: { operation: string; rows: readonly Row[] },
  onAnswer: (row: Row, answer: LineAnswer) => void,
  stop: AbortSignal,
): Promise<void> {
  const { operation } = batch;
  const body = batch.rows.map(({ key, request }) => `${JSON.stringify({ operation, key, request })}\n`).join('');
  const silence = new AbortController();
  const timer = setTimeout(() => silence.abort(), silenceMs);
  try {
    const response = await fetch(`${service.url}/v1/operations/bulk`, {
      method: 'POST',
      headers: { ...service.headers, 'content-type': 'application/x-ndjson' },
      body,
      signal: AbortSignal.any([stop, silence.signal]),
    });
    if (!response.ok) throw await toError(response);
    for await (const text of readLines(response, () => timer.refresh())) {
      const answer = JSON.parse(text) as LineAnswer;
      const row = batch.rows[answer.line - 1];
      if (row) onAnswer(row, answer);
    }
  } catch (error) {
    if (error instanceof NotNow || error instanceof StartError) throw error;
    throw new NotNow(describe(error));
  } finally {
    clearTimeout(timer);
  }
}

async function* readLines(response: Response, onChunk: () => void): AsyncGenerator<string> {
  if (!response.body) return;
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of response.body) {
    onChunk();
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    // What no newline ends may be half of an answer, and is none.
    rest = lines.pop() ?? '';
    yield* lines;
  }
}

/** What no repetition would change ends the run; the rest is for later. */
async function toError(response: Response): Promise<Error> {
  const { status } = response;
  const detail = detailOf(await response.text()) ?? `status ${status}`;
  if (status < 500 && status !== 408 && status !== 429) return new StartError(`The service says: ${detail}`);
  const seconds = Number(response.headers.get('retry-after'));
  return new NotNow(detail, seconds > 0 ? seconds * 1_000 : undefined);
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error && error.cause.message !== '' ? error.cause.message : error.message;
}
