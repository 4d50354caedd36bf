import { z } from 'zod';
import { type ErrorCode, errorCodes, problemOf, statusOf } from '../../errors.ts';
import { id } from '../../processors/fields.ts';
import { groupBy } from '../../store/group-by.ts';
import { effectSchema } from '../operation-view.ts';
import { operationHeaders, type ResponseHeader, refsToHeaders } from './headers.ts';
import type { JsonSchema } from './json-schema.ts';
import { problemExamples } from './problem-examples.ts';
import { accessOf, type RouteDocs } from './route-docs.ts';

export const problemSchema = z
  .looseObject({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string().describe('For people. It may change.'),
    code: z.enum(errorCodes).describe('For programs. It never changes.'),
    errors: z
      .array(z.strictObject({ path: z.string(), message: z.string() }))
      .optional()
      .describe('Each fault of the request.'),
    effect: effectSchema.optional(),
    operationId: id.optional(),
    differingFields: z.array(z.string()).optional(),
    currentVersion: z.int().optional(),
    currentStatus: z.string().optional(),
    mailingId: id.optional(),
    line: z.int().optional().describe('Where in the file.'),
  })
  .meta({ id: 'Problem', description: 'A problem as in RFC 9457.' });

/** Headers that belong to a code. */
const headersOfCodes: Partial<Record<ErrorCode, readonly ResponseHeader[]>> = {
  UNAUTHENTICATED: ['WWW-Authenticate'],
  RATE_LIMITED: ['Retry-After'],
  UNAVAILABLE: ['Retry-After'],
  OPERATION_IN_PROGRESS: ['Retry-After', 'Operation-Id', 'Idempotent-Replayed'],
  INCONSISTENT_REQUEST: ['Operation-Id', 'Idempotent-Replayed'],
};

/** The codes that a route can give: those that follow from its form, and its own. */
export function codesOf(path: string, docs: RouteDocs): { plain: ErrorCode[]; stored: ErrorCode[] } {
  const isPublic = accessOf(path, docs) === 'public';
  const plain: (ErrorCode | false)[] = [
    !isPublic && 'INVALID_REQUEST',
    docs.key !== undefined && 'IDEMPOTENCY_KEY_INVALID',
    docs.key?.required === true && 'IDEMPOTENCY_KEY_REQUIRED',
    !isPublic && 'UNAUTHENTICATED',
    !isPublic && 'FORBIDDEN',
    !isPublic && path.includes('{id}') && 'NOT_FOUND',
    (docs.body ?? docs.otherBodies) !== undefined && 'TOO_LARGE',
    (docs.body ?? docs.otherBodies) !== undefined && 'UNSUPPORTED_MEDIA_TYPE',
    !isPublic && 'RATE_LIMITED',
    !isPublic && 'INTERNAL',
    !isPublic && 'UNAVAILABLE',
    ...(docs.problems ?? []),
  ];
  return { plain: plain.filter((code) => code !== false), stored: [...(docs.storedProblems ?? [])] };
}

/** The problems of a route by status, as components that routes with the same codes share. */
export function problemResponses(
  codes: { plain: readonly ErrorCode[]; stored: readonly ErrorCode[] },
  components: Record<string, JsonSchema>,
): Record<string, JsonSchema> {
  const given = new Set([...codes.plain, ...codes.stored]);
  const byStatus = groupBy([...given], statusOf);
  return Object.fromEntries(
    [...byStatus].map(([status, ofStatus]) => {
      const stored = ofStatus.filter((code) => codes.stored.includes(code));
      const name = [...ofStatus, ...(stored.length > 0 ? ['stored'] : [])].join('.');
      components[name] ??= problemResponse(status, ofStatus, stored);
      return [String(status), { $ref: `#/components/responses/${name}` }];
    }),
  );
}

function problemResponse(status: number, codes: readonly ErrorCode[], stored: readonly ErrorCode[]): JsonSchema {
  const headers = codes.flatMap((code) => headersOfCodes[code] ?? []);
  const ofOperation = stored.length > 0 ? operationHeaders : [];
  const properties = { status: { const: status }, code: { enum: codes } };
  const examples = codes.map((code) => {
    const { detail, ...extra } = problemExamples[code];
    return [code, { value: problemOf(code, detail, extra) }];
  });
  return {
    description: codes.map((code) => `\`${code}\`: ${problemOf(code, '').title}.`).join(' '),
    headers: refsToHeaders([...headers, ...ofOperation]),
    content: {
      'application/problem+json': {
        schema: { $ref: '#/components/schemas/Problem', properties },
        examples: Object.fromEntries(examples),
      },
    },
  };
}
