import { type ErrorCode, errorCodes, problemOf } from '../errors.ts';
import type { RecordRow } from '../store/records.ts';
import { isCacheable, type StoredResult } from '../store/results.ts';
import type { ApiContext } from './api-env.ts';
import { effectOf, operationView } from './operation-view.ts';
import type { Preferences } from './prefer.ts';

export interface AnswerNotes {
  replayed: boolean;
  mismatch: boolean;
  preferences: Preferences;
}

/** The answer that a settled record gives, first and every time after. */
export function answerSettled(c: ApiContext, result: StoredResult, notes: AnswerNotes): Response {
  const headers = headersOf(c, result.recordId, notes);
  if (isCacheable(result) && result.expiresAtMs !== null) {
    headers['idempotency-expires'] = new Date(result.expiresAtMs).toUTCString();
  }
  if (result.status === 'SUCCEEDED') {
    headers['content-type'] = 'application/json';
    return new Response(result.responseBody, { status: result.responseStatus ?? 200, headers });
  }
  const problem = problemOfResult(result);
  headers['content-type'] = 'application/problem+json';
  return new Response(JSON.stringify(problem), { status: problem.status, headers });
}

/** 202: the record is safe, its result is not there yet. */
export function answerAccepted(c: ApiContext, record: RecordRow, notes: AnswerNotes): Response {
  const headers = headersOf(c, record.id, notes);
  headers['content-type'] = 'application/json';
  headers.location = `/v1/operations/${record.id}`;
  return new Response(JSON.stringify(operationView(record)), { status: 202, headers });
}

function headersOf(c: ApiContext, recordId: string, notes: AnswerNotes): Record<string, string> {
  const headers: Record<string, string> = {
    'x-request-id': c.get('requestId'),
    'operation-id': recordId,
    'idempotent-replayed': String(notes.replayed),
  };
  if (notes.mismatch) headers['idempotency-mismatch'] = 'true';
  if (notes.preferences.applied !== undefined) headers['preference-applied'] = notes.preferences.applied;
  return headers;
}

function problemOfResult(result: StoredResult) {
  const { error, recordId: operationId } = result;
  const about = { ...error?.extra, operationId, effect: effectOf(result.status) };
  if (result.status === 'UNKNOWN') {
    return problemOf(
      'OUTCOME_UNKNOWN',
      'An attempt was cut off in the middle. A person has to say what became of it.',
      about,
    );
  }
  const code = errorCodes.find((known) => known === error?.code) ?? fallbackCode;
  return problemOf(code, error?.message ?? 'The operation failed.', about);
}

const fallbackCode: ErrorCode = 'OPERATION_FAILED';
