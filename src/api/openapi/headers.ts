import { printableKey } from '../../processors/define-operation.ts';
import { subClientPattern } from '../authenticate.ts';
import { saneId } from '../request-id.ts';
import type { JsonSchema } from './json-schema.ts';

interface HeaderDocs {
  description: string;
  schema: JsonSchema;
  required?: boolean;
}

const text: JsonSchema = { type: 'string' };
const httpDate: JsonSchema = { type: 'string', examples: ['Thu, 19 Nov 2026 08:31:19 GMT'] };

/** What an answer may carry besides its body. */
export const responseHeaders = {
  'X-Request-Id': {
    description: 'The id of this request in the log: yours, if it was sane, or a new one.',
    schema: { type: 'string', pattern: saneId.source },
    required: true,
  },
  'Operation-Id': { description: 'The operation behind the answer.', schema: { type: 'string', format: 'uuid' } },
  'Idempotent-Replayed': {
    description: 'Whether the request was known already, so that nothing was done for it.',
    schema: { type: 'string', enum: ['true', 'false'] },
  },
  'Idempotency-Expires': { description: 'Until when the key gives this answer.', schema: httpDate },
  'Idempotency-Mismatch': {
    description: 'The key belongs to another request, and this is the answer to that one.',
    schema: { type: 'string', const: 'true' },
  },
  'Preference-Applied': { description: 'What was understood of `Prefer`.', schema: text },
  Location: { description: 'Where to ask for the result.', schema: { type: 'string', format: 'uri-reference' } },
  'Retry-After': { description: 'Seconds to wait before the next try.', schema: { type: 'string', pattern: '^\\d+$' } },
  'WWW-Authenticate': { description: 'How to authenticate.', schema: text },
  'Content-Disposition': { description: 'A name for the file.', schema: text },
  'Content-Security-Policy': { description: 'The page loads nothing from elsewhere.', schema: text },
} as const satisfies Record<string, HeaderDocs>;

export type ResponseHeader = keyof typeof responseHeaders;

/** What every answer that stands for an operation may carry. */
export const operationHeaders: readonly ResponseHeader[] = [
  'Operation-Id',
  'Idempotent-Replayed',
  'Idempotency-Expires',
  'Preference-Applied',
];

export function refsToHeaders(names: readonly ResponseHeader[]): Record<string, JsonSchema> {
  const all: ResponseHeader[] = ['X-Request-Id', ...names];
  return Object.fromEntries(all.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

/** Request headers that are the same wherever they are taken. */
export const requestHeaders = {
  'X-Client-ID': {
    description: 'A sub-client. Keys and operations are its own; resources are shared within the client.',
    schema: { type: 'string', pattern: subClientPattern.source },
  },
  'X-Request-Id': {
    description: 'An id of yours for this request. It is given back if it is sane.',
    schema: { type: 'string' },
  },
  Prefer: {
    description:
      '`wait=N` waits up to N seconds (0 to 60) for the result, `respond-async` answers 202 at once, ' +
      '`handling=strict` answers 409 to a duplicate of something in flight.',
    schema: { type: 'string', examples: ['wait=5', 'respond-async', 'handling=strict'] },
  },
} as const satisfies Record<string, HeaderDocs>;

export type RequestHeader = keyof typeof requestHeaders;

/** The header that names a request, with the pattern of the operation. A quoted string is the same key. */
export function keyParameter(key: { required: boolean; pattern: RegExp }): JsonSchema {
  const isStrict = key.pattern.source !== printableKey.source;
  const form = isStrict ? '10 to 64 of `A-Z a-z 0-9 _ -`' : '1 to 255 printable ASCII characters';
  return {
    name: 'Idempotency-Key',
    in: 'header',
    required: key.required,
    description: `Names this request: sent again with the same key, it gets the same answer. ${form}, bare or as a quoted string.`,
    schema: { type: 'string', anyOf: [{ pattern: key.pattern.source }, { pattern: '^".*"$' }] },
  };
}
