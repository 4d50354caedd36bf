import { AppError } from '../errors.ts';
import type { AnyOperation } from '../processors/define-operation.ts';
import { type ApiContext, headerOf } from './api-env.ts';

/** A structured-field string (RFC 8941): printable ASCII, with quotes and backslashes escaped. */
const quotedString = /^"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/;

/** The key of a request, or undefined if there is none and the operation does not need one. */
export function readIdempotencyKey(c: ApiContext, operation: Pick<AnyOperation, 'name' | 'key'>): string | undefined {
  const header = headerOf(c, 'idempotency-key');
  if (header === undefined) {
    if (!operation.key.required) return undefined;
    throw new AppError('IDEMPOTENCY_KEY_REQUIRED', `${operation.name} needs the header Idempotency-Key.`);
  }
  if (header.includes(',') && countHeaders(c) > 1) throw invalid('The header was sent more than once.');
  const key = unquote(header);
  if (key === undefined) throw invalid('It begins with a quote but is not a well-formed quoted string.');
  checkKey(operation, key);
  return key;
}

export function checkKey(operation: Pick<AnyOperation, 'name' | 'key'>, key: string): void {
  if (!operation.key.pattern.test(key))
    throw invalid(`For ${operation.name} it must match ${operation.key.pattern.source}.`);
}

/** Bare or quoted, it is the same key. */
export function unquote(header: string): string | undefined {
  if (!header.startsWith('"')) return header;
  return quotedString.exec(header)?.[1]?.replace(/\\(["\\])/g, '$1');
}

function countHeaders(c: ApiContext): number {
  return c.env.incoming.rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'idempotency-key')
    .length;
}

function invalid(detail: string): AppError {
  return new AppError('IDEMPOTENCY_KEY_INVALID', detail);
}
