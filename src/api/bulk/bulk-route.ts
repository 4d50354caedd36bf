import type { Handler } from 'hono';
import { AppError } from '../../errors.ts';
import { BulkLane } from '../../queues/bulk-lane.ts';
import { type ApiContext, type ApiEnv, type ApiParts, headerOf } from '../api-env.ts';
import { maxBodyBytes } from '../read-json.ts';
import { readChunks, StalledError } from '../upload/read-chunks.ts';
import { answerBatch, type BulkContext, toText } from './answer-batch.ts';
import { answerInOrder, type Batch } from './answer-in-order.ts';
import { createLineLimit } from './line-limit.ts';
import { LineSplitter, type RawLine } from './line-splitter.ts';

/** A client that sends nothing, or reads nothing, for this long has gone or means no good. */
const stallTimeoutMs = 120_000;
/** The same while the process is about to end. */
const lastWordsMs = 3_000;
/** Some thousands of usual lines: enough for several groups under way and the next one to gather. */
const maxBytesInHand = 1_048_576;
/** What a line costs besides its text: its objects on the way in, and its answer on the way out. */
const overheadBytes = 256;
/** Lines that are answered together. One that takes long, such as a look-up of a name, holds up no more than these. */
const maxBatchLines = 200;

/** Many operations in one request: a line in, a line out, in order and as they come. */
export function bulkRoute(parts: ApiParts): Handler<ApiEnv> {
  const lane = new BulkLane(parts.submitter, parts.log);
  return async (c: ApiContext) => {
    checkHeaders(c);
    const caller = c.get('caller');
    const limit = createLineLimit(parts, caller.client);
    const context = { parts, lane, caller, requestId: c.get('requestId'), limit };
    const answers = answerInOrder(readBatches(c, context), maxBytesInHand);
    const body = ReadableStream.from(dropIfStalled(c, parts.stopping, answers)).pipeThrough(new TextEncoderStream());
    const headers = {
      'content-type': 'application/x-ndjson',
      'cache-control': 'no-store',
      // Tells nginx to pass each answer on at once.
      'x-accel-buffering': 'no',
      'x-request-id': context.requestId,
    };
    return new Response(body, { headers });
  };
}

function checkHeaders(c: ApiContext): void {
  if (!/^application\/(?:x-ndjson|ndjson|jsonl) *(?:;|$)/i.test(headerOf(c, 'content-type') ?? '')) {
    throw new AppError('UNSUPPORTED_MEDIA_TYPE', 'Send the lines as "Content-Type: application/x-ndjson".');
  }
  const encoding = headerOf(c, 'content-encoding') ?? 'identity';
  if (encoding !== 'identity') throw new AppError('UNSUPPORTED_MEDIA_TYPE', 'Send the lines without Content-Encoding.');
}

async function* readBatches(c: ApiContext, context: BulkContext): AsyncGenerator<Batch> {
  const splitter = new LineSplitter(maxBodyBytes);
  const toBatches = async function* (lines: readonly RawLine[]): AsyncGenerator<Batch> {
    for (let start = 0; start < lines.length; start += maxBatchLines) {
      const batch = lines.slice(start, start + maxBatchLines);
      const bytes = batch.reduce((sum, { text }) => sum + text.length + overheadBytes, 0);
      yield { bytes, answer: () => answerBatch(context, batch) };
    }
  };
  try {
    const chunks = readChunks(c.env.incoming, { stallTimeoutMs, signal: context.parts.stopping });
    for await (const chunk of chunks) yield* toBatches(splitter.push(chunk as Buffer));
    yield* toBatches(splitter.end());
  } catch (error) {
    const reason = reasonToStop(context.parts, error);
    if (!reason) throw error;
    const detail = `${reason.message} This line and those after it were not taken.`;
    yield { bytes: 0, answer: async () => toText({ line: splitter.line, key: null, code: reason.code, detail }) };
  }
}

/** Why nothing more is read although there may be more. A client that has gone is none: nobody would read it. */
function reasonToStop(parts: ApiParts, error: unknown): AppError | undefined {
  if (parts.stopping.aborted) return new AppError('UNAVAILABLE', 'The service is about to end.');
  if (error instanceof StalledError) return new AppError('INVALID_REQUEST', 'Nothing came for two minutes.');
  return undefined;
}

/** Whoever leaves the answers unread is cut off: the stream would stand still for ever, or hold up the end. */
async function* dropIfStalled(
  c: ApiContext,
  stopping: AbortSignal,
  answers: AsyncIterable<string>,
): AsyncGenerator<string> {
  const drop = () => c.env.outgoing.destroy();
  let timer: NodeJS.Timeout | undefined;
  const hurry = () => {
    if (!timer) return;
    clearTimeout(timer);
    timer = setTimeout(drop, lastWordsMs);
  };
  stopping.addEventListener('abort', hurry);
  try {
    for await (const text of answers) {
      timer = setTimeout(drop, stopping.aborted ? lastWordsMs : stallTimeoutMs);
      yield text;
      clearTimeout(timer);
      timer = undefined;
    }
  } finally {
    clearTimeout(timer);
    stopping.removeEventListener('abort', hurry);
  }
}
