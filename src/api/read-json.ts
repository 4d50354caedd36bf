import type { IncomingMessage } from 'node:http';
import type { z } from 'zod';
import { AppError } from '../errors.ts';
import { type ApiContext, headerOf } from './api-env.ts';
import { checkJsonText } from './check-json-text.ts';

/** Requests are small documents. What is large, such as a CSV file, has routes of its own that stream. */
export const maxBodyBytes = 256 * 1024;
/** A document that is not complete after this time comes from a very slow client or from an attacker. */
const bodyTimeoutMs = 120_000;

/** Postgres cannot keep NUL or a lone surrogate in jsonb, and a body that hides one has no good reason to. */
const suspiciousEscape = /\\u(?:0000|d[89a-f])/i;

/** Whether the request brings a body at all. */
export function hasBody(c: ApiContext): boolean {
  const length = headerOf(c, 'content-length');
  return headerOf(c, 'transfer-encoding') !== undefined || (length !== undefined && length !== '0');
}

/** The text of a body that claims to be JSON, or an error that says why it cannot be read. */
export async function readJsonText(c: ApiContext): Promise<string> {
  const type = headerOf(c, 'content-type') ?? '';
  if (!/^application\/(?:[\w.+-]+\+)?json *(?:;|$)/i.test(type)) {
    throw new AppError('UNSUPPORTED_MEDIA_TYPE', 'Send the body as "Content-Type: application/json".');
  }
  const encoding = headerOf(c, 'content-encoding') ?? 'identity';
  if (encoding !== 'identity') throw new AppError('UNSUPPORTED_MEDIA_TYPE', 'Send the body without Content-Encoding.');
  const bytes = await readBody(c.env.incoming);
  try {
    return utf8.decode(bytes);
  } catch {
    throw new AppError('INVALID_REQUEST', 'The body is not valid UTF-8.');
  }
}

/** The value, or an error that says what is wrong with the text. */
export function parseJson(text: string, what: 'body' | 'line' = 'body'): unknown {
  checkJsonText(text, what);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new AppError('INVALID_REQUEST', `The ${what} is not valid JSON.`);
  }
  if (suspiciousEscape.test(text)) checkStrings(value, what);
  return value;
}

/** Checks a body or query against its schema. Every fault is named, not only the first. */
export function validate<T>(schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const errors = parsed.error.issues.flatMap(describeIssue);
  const summary = errors.map(({ path, message }) => (path ? `${path} ${message}` : message)).join('; ');
  throw new AppError('INVALID_REQUEST', `Not valid: ${summary.slice(0, 500)}.`, {
    extra: { errors: errors.slice(0, 50) },
  });
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** All bytes of a small body. */
export function readBody(incoming: IncomingMessage, timeoutMs = bodyTimeoutMs): Promise<Uint8Array> {
  if (Number(incoming.headers['content-length'] ?? 0) > maxBodyBytes) return Promise.reject(tooLarge());
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const refuse = (error: AppError) => {
      clearTimeout(timer);
      reject(error);
    };
    const timer = setTimeout(() => refuse(invalid('The body did not arrive in time.')), timeoutMs);
    incoming.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= maxBodyBytes) chunks.push(chunk);
      else refuse(tooLarge());
    });
    incoming.on('end', () => {
      clearTimeout(timer);
      resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks));
    });
    const endEarly = () => {
      if (!incoming.complete) refuse(invalid('The body ended too early.'));
    };
    incoming.on('error', endEarly);
    incoming.on('close', endEarly);
  });
}

function invalid(detail: string): AppError {
  return new AppError('INVALID_REQUEST', detail);
}

function tooLarge(): AppError {
  // The rest of the body is not read, so the connection cannot be used for another request.
  return new AppError('TOO_LARGE', `A body may have at most ${maxBodyBytes} bytes.`, {
    headers: { connection: 'close' },
  });
}

function checkStrings(value: unknown, what: string): void {
  if (typeof value === 'string') {
    if (value.includes('\0') || !value.isWellFormed()) {
      throw new AppError('INVALID_REQUEST', `A string in the ${what} contains NUL or half of a surrogate pair.`);
    }
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, item] of Object.entries(value)) {
      checkStrings(key, what);
      checkStrings(item, what);
    }
  }
}

function describeIssue(issue: z.core.$ZodIssue): { path: string; message: string }[] {
  const path = issue.path.map(String);
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({ path: [...path, key].join('.'), message: 'is not a known field' }));
  }
  return [{ path: path.join('.'), message: issue.message }];
}
