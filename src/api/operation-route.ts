import type { Handler } from 'hono';
import { AppError } from '../errors.ts';
import type { AnyOperation } from '../processors/define-operation.ts';
import { differingFieldsOf } from '../queues/fingerprint.ts';
import type { Submission, Submitted } from '../queues/submit.ts';
import { findRecords, type RecordRow } from '../store/records.ts';
import { type StoredResult, toStoredResult } from '../store/results.ts';
import { type AnswerNotes, answerAccepted, answerSettled } from './answer.ts';
import { type ApiContext, type ApiEnv, type ApiParts, headerOf } from './api-env.ts';
import { readIdempotencyKey } from './idempotency-key.ts';
import { admitNew, presentResult } from './operation-hooks.ts';
import { effectOf } from './operation-view.ts';
import { type Preferences, readPreferences } from './prefer.ts';
import { parseJson, readJsonText, validate } from './read-json.ts';

/**
 * A route that runs an operation: read, submit, wait, answer. It is the same for every operation. Where the path
 * names what the operation is about, `fromPath` says which fields of the request come from there.
 */
export function operationRoute(
  parts: ApiParts,
  operation: AnyOperation,
  fromPath?: (c: ApiContext) => Record<string, string>,
): Handler<ApiEnv> {
  return async (c: ApiContext) => {
    const key = readIdempotencyKey(c, operation);
    const preferences = readPreferences(headerOf(c, 'prefer'), parts.waitSeconds);
    const { client, subClient } = c.get('caller');
    const identity = { client, subClient, operation, key };
    const pathFields = fromPath?.(c);
    const body = await readJsonText(c);
    const text = pathFields ? `${JSON.stringify(pathFields)}${body}` : body;
    const recalled = key === undefined ? undefined : parts.submitter.recall({ ...identity, key }, text);
    if (recalled) return await answer(parts, c, recalled, { operation, preferences, text });

    const request = validate(operation.request, mergePath(parseJson(body), pathFields));
    await admitNew(parts, identity, request);
    const submission = { ...identity, request, awaited: preferences.waitMs > 0 };
    const submitted = await parts.submitter.submit(submission);
    const { recordId: operationId, duplicate } = submitted;
    parts.log.debug({ requestId: c.get('requestId'), operationId, operation: operation.name, duplicate }, 'submitted');
    if (submitted.mismatch && operation.onMismatch === 'reject') throw await inconsistent(parts, submission, submitted);
    return await answer(parts, c, submitted, { operation, preferences, text });
  };
}

/** A field that the path gives must not be in the body as well. */
function mergePath(body: unknown, pathFields: Record<string, string> | undefined): unknown {
  if (!pathFields || typeof body !== 'object' || body === null || Array.isArray(body)) return body;
  const twice = Object.keys(pathFields).find((name) => Object.hasOwn(body, name));
  if (twice === undefined) return { ...body, ...pathFields };
  const errors = [{ path: twice, message: 'is not a known field' }];
  throw new AppError('INVALID_REQUEST', `Not valid: ${twice} is not a known field.`, { extra: { errors } });
}

async function answer(
  parts: ApiParts,
  c: ApiContext,
  submitted: Submitted,
  { operation, preferences, text }: { operation: AnyOperation; preferences: Preferences; text: string },
): Promise<Response> {
  const notes: AnswerNotes = { replayed: submitted.duplicate, mismatch: submitted.mismatch, preferences };
  const answerFinally = async (result: StoredResult) => {
    if (!submitted.mismatch) parts.submitter.remember(submitted.scopedKey, result, text);
    const shown = submitted.duplicate ? await toReplay(parts, operation, result) : result;
    return answerSettled(c, presentResult(parts, operation, shown), notes);
  };
  if (submitted.kind === 'settled') return await answerFinally(submitted.result);
  if (submitted.duplicate && preferences.strict) throw inProgress(submitted.recordId);

  const isWorthWaiting = preferences.waitMs > 0 && submitted.enqueued;
  if (!isWorthWaiting && !submitted.duplicate) return answerAccepted(c, submitted.record, notes);
  const result = isWorthWaiting ? await waitForResult(parts, submitted, preferences.waitMs) : undefined;
  if (result) return await answerFinally(result);
  const [record = submitted.record] = await findRecords(parts.db, [submitted.recordId]);
  return record.settled_at ? await answerFinally(toStoredResult(record)) : answerAccepted(c, record, notes);
}

/** Where the policy says so, a replay shows the resource as it is now. */
async function toReplay(parts: ApiParts, operation: AnyOperation, result: StoredResult): Promise<StoredResult> {
  if (operation.replay === 'stored' || result.status !== 'SUCCEEDED' || result.resourceId === null) return result;
  const current = await operation.replay(parts.db, result.resourceId);
  return current === undefined ? result : { ...result, responseBody: JSON.stringify(current) };
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
  return inconsistentWith(record, submission, submitted.recordId);
}

/** The record is that of the first request with the key; it may have expired since. */
export function inconsistentWith(record: RecordRow | undefined, submission: Submission, operationId: string): AppError {
  const differingFields = differingFieldsOf(record?.request, submission.request);
  const detail = `The key belongs to another request, which differs in ${differingFields.join(', ')}.`;
  const effect = record ? effectOf(record.status) : 'unknown';
  const extra = { operationId, differingFields, effect };
  return new AppError('INCONSISTENT_REQUEST', detail, { extra, headers: headersAbout(operationId) });
}

function headersAbout(operationId: string): Record<string, string> {
  return { 'operation-id': operationId, 'idempotent-replayed': 'false' };
}
