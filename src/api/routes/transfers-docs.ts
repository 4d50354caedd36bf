import { createTransfer } from '../../processors/transfers/create-transfer.ts';
import { transferSchema } from '../../processors/transfers/transfer-view.ts';
import { exampleIds } from '../openapi/example-ids.ts';
import { runs } from '../openapi/operation-docs.ts';
import { type RouteGroup, shows } from '../openapi/route-docs.ts';

const request = {
  fromAccountId: exampleIds.adasAccount,
  toAccountId: exampleIds.gracesAccount,
  amount: 2_500,
  description: 'Rent for November',
};
const transfer = {
  id: exampleIds.transfer,
  fromAccountId: request.fromAccountId,
  toAccountId: request.toAccountId,
  amount: request.amount,
  currency: 'EUR',
  description: request.description,
  status: 'COMPLETED',
  createdAt: '2026-11-18T08:32:04.118Z',
};

const accepted = {
  id: exampleIds.laterTransfer,
  operation: 'transfer.create',
  key: 'rent-2026-12',
  status: 'QUEUED',
  attempts: 0,
  replays: 0,
  createdAt: '2026-11-18T08:32:10.390Z',
  updatedAt: '2026-11-18T08:32:10.390Z',
  expiresAt: null,
  effect: 'not_applied',
};

export const transferDocs: RouteGroup = {
  tag: 'Transfers',
  description: 'Money from one account to another, once.',
  routes: {
    'POST /v1/transfers': runs(createTransfer, {
      summary: 'Make a transfer',
      description: 'A refusal is an answer like any other: it is kept under the key and given again.',
      examples: {
        rent: {
          headers: { 'idempotency-key': 'rent-2026-11' },
          body: request,
          answer: { status: 201, body: transfer },
        },
        later: {
          headers: { 'idempotency-key': 'rent-2026-12', prefer: 'respond-async' },
          body: { ...request, description: 'Rent for December' },
          answer: { status: 202, body: accepted },
        },
      },
    }),
    'GET /v1/transfers/{id}': {
      summary: 'Show a transfer',
      answers: shows('The transfer.', transferSchema),
      examples: { rent: { path: { id: exampleIds.transfer }, answer: { status: 200, body: transfer } } },
    },
  },
};
