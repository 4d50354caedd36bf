import { accountSchema } from '../../processors/accounts/account-view.ts';
import { openAccount } from '../../processors/accounts/open-account.ts';
import { movementSchema } from '../movement-view.ts';
import { exampleIds } from '../openapi/example-ids.ts';
import { runs } from '../openapi/operation-docs.ts';
import { type RouteGroup, shows } from '../openapi/route-docs.ts';
import { pageOf } from '../paging.ts';
import { movementsQuery } from './accounts.ts';

const id = exampleIds.adasAccount;
const createdAt = '2026-11-18T08:31:19.551Z';
const adas = { id, owner: 'Ada', currency: 'EUR', balance: 10_000, overdraftLimit: 0, version: 1, createdAt };
const graces = {
  ...adas,
  ...{ id: exampleIds.gracesAccount, owner: 'Grace', balance: 0, overdraftLimit: 50_000 },
};

export const accountDocs: RouteGroup = {
  tag: 'Accounts',
  description: 'Accounts with a balance in one currency, kept by double entry.',
  routes: {
    'POST /v1/accounts': runs(openAccount, {
      summary: 'Open an account',
      examples: {
        ada: {
          headers: { 'idempotency-key': 'open-account-of-ada' },
          body: { owner: 'Ada', currency: 'EUR', openingBalance: 10_000 },
          answer: { status: 201, body: adas },
        },
        grace: {
          headers: { 'idempotency-key': 'open-account-of-grace' },
          body: { owner: 'Grace', currency: 'EUR', overdraftLimit: 50_000 },
          answer: { status: 201, body: graces },
        },
      },
    }),
    'GET /v1/accounts/{id}': {
      summary: 'Show an account',
      answers: shows('The account as it is now.', accountSchema),
      examples: { ada: { path: { id }, answer: { status: 200, body: adas } } },
    },
    'GET /v1/accounts/{id}/movements': {
      summary: 'List the movements of an account',
      description: 'Newest first.',
      query: movementsQuery,
      answers: shows('A page of movements.', pageOf(movementSchema)),
      examples: {
        ada: {
          path: { id },
          query: { limit: '10' },
          answer: {
            status: 200,
            body: {
              items: [
                {
                  ...{ id: '1', kind: 'opening', amount: 10_000, balanceAfter: 10_000 },
                  ...{ operationId: id, transferId: null, createdAt },
                },
              ],
              nextCursor: null,
            },
          },
        },
      },
    },
  },
};
