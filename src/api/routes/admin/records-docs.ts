import { adminRecordSchema, auditedRecordSchema } from '../../admin-view.ts';
import { exampleIds } from '../../openapi/example-ids.ts';
import { type RouteGroup, shows } from '../../openapi/route-docs.ts';
import { pageOf } from '../../paging.ts';
import { recordsQuery, resetBody, resolution, stuckQuery } from './records.ts';

const { unknownTransfer: id, failedTransfer } = exampleIds;
const at = '2026-11-18T08:50:01.337Z';
const error = {
  code: 'OUTCOME_UNKNOWN',
  message: 'An attempt was cut off in the middle. A person has to say what became of it.',
};
const record = {
  id,
  client: 'default',
  subClient: null,
  operation: 'transfer.create',
  key: 'example-unknown',
  status: 'UNKNOWN',
  attempts: 1,
  replays: 0,
  createdAt: at,
  updatedAt: at,
  expiresAt: null,
  error,
  effect: 'unknown',
  generation: 1,
  epoch: 1,
  nextAttemptAt: null,
};
const { error: _, ...sound } = record;
const queued = {
  ...sound,
  id: failedTransfer,
  key: 'example-failed-1',
  status: 'QUEUED',
  effect: 'not_applied',
  attempts: 0,
  generation: 2,
  epoch: 2,
};
const hashes = [
  '7f1c9a52e08b4d36915ea7c0f2d86b3419e5c7a08d2f4b6193e0a5d7c8f21b64',
  '2b60d8e4f795c1a3086ed47f5b29c1e0a34d7f8692b5e0c1d7a4f3869b0e25cd',
  'a93e5d17c460f28b5e01d7a4c9f8362b704ed5c1f9a83b6e2d0471c5be98f036',
];
const entry = (position: number, from: string | null, to: string) => ({
  at,
  from,
  to,
  actor: position === 0 ? 'client:default' : 'worker:b1946ac9',
  epoch: Math.min(position, 1),
  detail: null,
  hash: hashes[position],
  prevHash: hashes[position - 1] ?? null,
});
const page = (item: unknown) => ({ status: 200, body: { items: [item], nextCursor: null } });

export const recordDocs: RouteGroup = {
  tag: 'Records',
  description: 'For operators: single records, whoever they belong to, and what can be done about them.',
  routes: {
    'GET /v1/admin/idempotency/records/stuck': {
      summary: 'List stuck records',
      description: 'Unfinished, and for so long neither touched nor due for the next attempt. Oldest first.',
      query: stuckQuery,
      answers: shows('A page of records.', pageOf(adminRecordSchema)),
      examples: { hour: { query: { minutes: '60' }, answer: page(queued) } },
    },
    'GET /v1/admin/idempotency/records/unknown': {
      summary: 'List records in doubt',
      description: 'Those of which nobody can tell whether their effect happened. Oldest first.',
      query: recordsQuery,
      answers: shows('A page of records.', pageOf(adminRecordSchema)),
      examples: { all: { answer: page(record) } },
    },
    'GET /v1/admin/idempotency/records/{id}': {
      summary: 'Show a record with its audit trail',
      answers: shows('The record as it is now.', auditedRecordSchema),
      examples: {
        unknown: {
          path: { id },
          answer: {
            status: 200,
            body: {
              ...record,
              audit: [entry(0, null, 'QUEUED'), entry(1, 'QUEUED', 'PROCESSING'), entry(2, 'PROCESSING', 'UNKNOWN')],
            },
          },
        },
      },
    },
    'POST /v1/admin/idempotency/records/{id}/reset': {
      summary: 'Run a record again',
      description:
        'For what is `QUEUED`, `PROCESSING` or `FAILED`. It begins anew, and whoever worked on it before can no ' +
        'longer commit.',
      body: resetBody,
      bodyIsOptional: true,
      answers: { 202: { description: 'It is queued.', body: adminRecordSchema } },
      problems: ['INVALID_STATE', 'OPERATION_IN_PROGRESS'],
      examples: {
        failed: { path: { id: failedTransfer }, body: { note: 'mended' }, answer: { status: 202, body: queued } },
      },
    },
    'POST /v1/admin/idempotency/records/{id}/resolve': {
      summary: 'Say what became of a record in doubt',
      description: 'Said again, it is the same. The contrary is refused.',
      body: resolution,
      answers: shows('The record, which is settled now.', adminRecordSchema),
      problems: ['INVALID_STATE', 'OPERATION_IN_PROGRESS'],
      examples: {
        applied: {
          path: { id },
          body: { outcome: 'applied', note: 'seen in the books of the provider' },
          answer: {
            status: 200,
            body: {
              ...sound,
              status: 'SUCCEEDED',
              effect: 'applied',
              expiresAt: '2026-11-19T08:50:01.337Z',
              result: { operationId: id, outcome: 'applied' },
            },
          },
        },
      },
    },
  },
};
