import type { Handler } from 'hono';
import { AppError } from '../errors.ts';
import type { AnyOperation } from '../processors/define-operation.ts';
import { differingFieldsOf } from '../queues/fingerprint.ts';
import type { Submission, Submitted } from '../queues/submit.ts';
import { findRecords } from '../store/records.ts';
import { type StoredResult, toStoredResult } from '../store/results.ts';
import { type AnswerNotes, answerAccepted, answerSettled } from './answer.ts';
import { type ApiContext, type ApiEnv, type ApiParts, headerOf } from './api-env.ts';
import { readIdempotencyKey } from './idempotency-key.ts';
import { effectOf } from './operation-view.ts';
import { type Preferences, readPreferences } from './prefer.ts';
import { parseJson, readJsonText, validate } from './read-json.ts';

/** A route that runs an operation: read, submit, wait, answer. It is the same for every operation. */
export function operationRoute(parts: ApiParts, operation: AnyOperation): Handler<ApiEnv> {
  return async (c: ApiContext) => {
    const key = readIdempotencyKey(c, operation);
    const preferences = readPreferences(headerOf(c, 'prefer'), parts.waitSeconds);
    const { client, subClient } = c.get('caller');
    const identity = { client, subClient, operation, key };
    const text = await readJsonText(c);
    const recalled = key === undefined ? undefined : parts.submitter.recall({ ...identity, key }, text);
    if (recalled) return await answer(parts, c, recalled, { preferences, text });

    const request = validate(operation.request, parseJson(text));
    const submission = { ...identity, request, awaited: preferences.waitMs > 0 };
    const submitted = await parts.submitter.submit(submission);
    if (submitted.mismatch && operation.onMismatch === 'reject') throw await inconsistent(parts, submission, submitted);
    return await answer(parts, c, submitted, { preferences, text });
  };
}

async function answer(
  parts: ApiParts,
  c: ApiContext,
  submitted: Submitted,
  { preferences, text }: { preferences: Preferences; text: string },
): Promise<Response> {
  const notes: AnswerNotes = { replayed: submitted.duplicate, mismatch: submitted.mismatch, preferences };
  const answerFinally = (result: StoredResult) => {
    if (!submitted.mismatch) parts.submitter.remember(submitted.scopedKey, result, text);
    return answerSettled(c, result, notes);
  };
  if (submitted.kind === 'settled') return answerFinally(submitted.result);
  if (submitted.duplicate && preferences.strict) throw inProgress(submitted.recordId);

  const isWorthWaiting = preferences.waitMs > 0 && submitted.enqueued;
  if (!isWorthWaiting && !submitted.duplicate) return answerAccepted(c, submitted.record, notes);
  const result = isWorthWaiting ? await waitForResult(parts, submitted, preferences.waitMs) : undefined;
  if (result) return answerFinally(result);
  const [record = submitted.record] = await findRecords(parts.db, [submitted.recordId]);
  return record.settled_at ? answerFinally(toStoredResult(record)) : answerAccepted(c, record, notes);
}

/** The reply for a duplicate goes to whoever was first, so a duplicate listens for the record itself. */
async function waitForResult(parts: ApiParts, submitted: Submitted, waitMs: number): Promise<StoredResult | undefined> {
  return submitted.duplicate
    ? await parts.waiter.attachTo(submitted.recordId, waitMs)
    : await parts.waiter.waitFor(submitted.recordId, waitMs);
}

function inProgress(operationId: string): AppError {
  const detail = 'The first request with this key is still being worked on.';
  const extra = { operationId, effect: 'unknown' };
  return new AppError('OPERATION_IN_PROGRESS', detail, { extra, headers: headersAbout(operationId) });
}

async function inconsistent(parts: ApiParts, submission: Submission, submitted: Submitted): Promise<AppError> {
  const [record] = await findRecords(parts.db, [submitted.recordId]);
  const differingFields = differingFieldsOf(record?.request, submission.request);
  const detail = `The key belongs to another request, which differs in ${differingFields.join(', ')}.`;
  const effect = record ? effectOf(record.status) : 'unknown';
  const operationId = submitted.recordId;
  const extra = { operationId, differingFields, effect };
  return new AppError('INCONSISTENT_REQUEST', detail, { extra, headers: headersAbout(operationId) });
}

function headersAbout(operationId: string): Record<string, string> {
  return { 'operation-id': operationId, 'idempotent-replayed': 'false' };
}
