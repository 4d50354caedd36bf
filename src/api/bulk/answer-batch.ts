import { AppError } from '../../errors.ts';
import type { BulkLane } from '../../queues/bulk-lane.ts';
import type { GroupSubmitted, Submission } from '../../queues/submit.ts';
import type { ApiParts, Caller } from '../api-env.ts';
import { admitNew } from '../operation-hooks.ts';
import { inconsistentWith } from '../operation-route.ts';
import { toAppError } from '../problem-response.ts';
import { maxBodyBytes } from '../read-json.ts';
import type { RawLine } from './line-splitter.ts';
import { checkEnvelope, readEnvelope } from './read-line.ts';

/** A longer key is no key, and need not be sent back. */
const maxShownKeyLength = 255;

export interface BulkContext {
  parts: ApiParts;
  lane: BulkLane;
  caller: Caller;
  requestId: string;
  /** Why the next line may not be taken: the client has none left in this minute. */
  limit: () => Promise<AppError | undefined>;
}

/** A line on its way: what it asks for, or what is wrong with it. */
interface Line {
  line: number;
  key: string | null;
  submission?: Submission;
  error?: unknown;
}

/** From lines to the lines that answer them. It never throws: what is wrong with a line is its answer. */
export async function answerBatch(context: BulkContext, batch: readonly RawLine[]): Promise<string> {
  const lines: Line[] = [];
  for (const raw of batch) lines.push(readLine(context, raw, await context.limit()));
  await Promise.all(lines.filter(needsAdmission).map((line) => admitLine(context, line)));
  const sound = lines.flatMap(({ submission, error }) => (submission && error === undefined ? [submission] : []));
  const taken = (await context.lane.submit(sound)).values();
  let text = '';
  for (const line of lines) {
    const isSound = line.submission && line.error === undefined;
    text += toText(isSound ? toAnswer(context, line, taken.next().value) : toRefusal(context, line, line.error));
  }
  return text;
}

function readLine({ parts, caller }: BulkContext, raw: RawLine, refusal: AppError | undefined): Line {
  const line: Line = { line: raw.line, key: null };
  try {
    if (raw.fault) throw unreadable(raw.fault);
    const envelope = readEnvelope(raw.text);
    if ((envelope.key?.length ?? 0) <= maxShownKeyLength) line.key = envelope.key ?? null;
    if (refusal) throw refusal;
    const { operation, key, request } = checkEnvelope(parts.registry, envelope);
    const { client, subClient } = caller;
    line.submission = { client, subClient, operation, key, request, awaited: false };
  } catch (error) {
    line.error = error;
  }
  return line;
}

function needsAdmission({ submission }: Line): boolean {
  return submission?.operation.admit !== undefined;
}

async function admitLine({ parts }: BulkContext, line: Line): Promise<void> {
  try {
    if (line.submission) await admitNew(parts, line.submission, line.submission.request);
  } catch (error) {
    line.error = error;
  }
}

function toAnswer(context: BulkContext, line: Line, taken: GroupSubmitted | Error | undefined) {
  const { submission } = line;
  if (!submission || !taken || taken instanceof Error) return toRefusal(context, line, taken);
  const { recordId: operationId, status, mismatch, duplicate } = taken;
  if (mismatch && submission.operation.onMismatch === 'reject') {
    return toRefusal(context, line, inconsistentWith(taken.record, submission, operationId));
  }
  const answer = { line: line.line, key: line.key, operationId, status, created: !duplicate };
  return mismatch ? { ...answer, mismatch } : answer;
}

function toRefusal({ parts, requestId }: BulkContext, { line, key }: Line, error: unknown) {
  const known = toAppError(error);
  if (known) {
    const retryAfter = known.headers['retry-after'];
    const pause = retryAfter === undefined ? {} : { retryAfterSeconds: Number(retryAfter) };
    return { line, key, code: known.code, detail: known.message, ...known.extra, ...pause };
  }
  parts.log.error({ err: error, requestId }, 'a line failed');
  return { line, key, code: 'INTERNAL', detail: `The error is in our log under the request id ${requestId}.` };
}

function unreadable(fault: RawLine['fault'] & string): AppError {
  if (fault === 'not UTF-8') return new AppError('INVALID_REQUEST', 'The line is not valid UTF-8.');
  return new AppError('TOO_LARGE', `A line may have at most ${maxBodyBytes} bytes.`);
}

export function toText(answer: Record<string, unknown>): string {
  return `${JSON.stringify(answer)}\n`;
}
