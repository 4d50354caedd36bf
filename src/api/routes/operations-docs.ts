import { z } from 'zod';
import { auditEntrySchema } from '../audit-view.ts';
import { exampleIds } from '../openapi/example-ids.ts';
import { type RouteGroup, shows } from '../openapi/route-docs.ts';
import { operationSchema } from '../operation-view.ts';
import { pageOf } from '../paging.ts';
import { operationsQuery } from './operations.ts';
import { transferDocs } from './transfers-docs.ts';

const id = exampleIds.transfer;
const at = '2026-11-18T08:32:04.118Z';
const worker = 'worker:b1946ac9';
const hashes = [
  'c3d1f0e5a79b24688d6f31a0be57c9420f1e8a6d3b5c7790e24f6b81d0a3c5e7',
  '5b8e2a94f6c01d73e95a40b7c18fd362a7e0946bd2f8351c60e9b4a7d3f1852c',
  'e07a4c61b95d28f3a1460be7d93c5f8204b6e1d97fa3c85026d14fb98ce7a03d',
];
const chain = (position: number) => ({
  detail: null,
  hash: hashes[position],
  prevHash: hashes[position - 1] ?? null,
});
const operation = {
  id,
  operation: 'transfer.create',
  key: 'rent-2026-11',
  status: 'SUCCEEDED',
  attempts: 1,
  replays: 0,
  createdAt: '2026-11-18T08:32:04.102Z',
  updatedAt: at,
  expiresAt: '2026-11-19T08:32:04.118Z',
  result: transferDocs.routes['POST /v1/transfers']?.examples.rent?.answer.body,
  effect: 'applied',
  resource: { type: 'transfer', id, href: `/v1/transfers/${id}` },
};

const rentLine = {
  operation: operation.operation,
  key: operation.key,
  request: transferDocs.routes['POST /v1/transfers']?.examples.rent?.body,
};
const toLines = (...lines: readonly unknown[]) => lines.map((line) => `${JSON.stringify(line)}\n`).join('');

export const operationDocs: RouteGroup = {
  tag: 'Operations',
  description: 'What was asked for, and what became of it.',
  routes: {
    'GET /v1/operations': {
      summary: 'List operations',
      description: 'Newest first. Each filter is optional.',
      query: operationsQuery,
      answers: shows('A page of operations.', pageOf(operationSchema)),
      examples: {
        transfers: {
          query: { operation: 'transfer.create', status: 'SUCCEEDED', key: 'rent-2026-11' },
          answer: { status: 200, body: { items: [operation], nextCursor: null } },
        },
      },
    },
    'GET /v1/operations/{id}': {
      summary: 'Show an operation',
      description: 'Where a 202 leads to. Ask until the status is `SUCCEEDED`, `REJECTED`, `FAILED` or `UNKNOWN`.',
      answers: shows('The operation as it is now.', operationSchema),
      examples: { rent: { path: { id }, answer: { status: 200, body: operation } } },
    },
    'GET /v1/operations/{id}/audit': {
      summary: 'Show the audit trail of an operation',
      description: 'Each change of its state, in order. Why an attempt failed is shown to keys of scope `admin` only.',
      answers: shows('The trail.', z.strictObject({ items: z.array(auditEntrySchema) })),
      examples: {
        rent: {
          path: { id },
          answer: {
            status: 200,
            body: {
              items: [
                { at: operation.createdAt, from: null, to: 'QUEUED', actor: 'client:default', epoch: 0, ...chain(0) },
                { at, from: 'QUEUED', to: 'PROCESSING', actor: worker, epoch: 1, ...chain(1) },
                { at, from: 'PROCESSING', to: 'SUCCEEDED', actor: worker, epoch: 1, ...chain(2) },
              ],
            },
          },
        },
      },
    },
    'POST /v1/operations/bulk': {
      summary: 'Send many operations at once',
      description:
        'A line `{"operation", "key", "request"}` in, a line out for each, in order, and as a stream both ways: read the answers while you send. A line that was taken is answered with `{"line", "key", "operationId", "status", "created"}`, any other with `{"line", "key", "code", "detail"}` and what else a problem of that code says. One bad line never stops the others. `UNAVAILABLE` and `RATE_LIMITED` are for later: send the line again with the same key.',
      otherBodies: { 'application/x-ndjson': z.string() },
      answers: { 200: { description: 'A line for each.', otherTypes: { 'application/x-ndjson': z.string() } } },
      examples: {
        rent: {
          headers: { 'content-type': 'application/x-ndjson' },
          body: toLines(rentLine, { ...rentLine, key: 'short' }),
          answer: {
            status: 200,
            type: 'application/x-ndjson',
            body: toLines(
              { line: 1, key: operation.key, operationId: id, status: 'SUCCEEDED', created: false },
              {
                line: 2,
                key: 'short',
                code: 'IDEMPOTENCY_KEY_INVALID',
                detail: 'For transfer.create it must match ^[A-Za-z0-9_-]{10,64}$.',
              },
            ),
          },
        },
      },
    },
  },
};
