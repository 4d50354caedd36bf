import { createCustomer } from '../../processors/customers/create-customer.ts';
import { customerSchema } from '../../processors/customers/customer-view.ts';
import { exampleIds } from '../openapi/example-ids.ts';
import { runs } from '../openapi/operation-docs.ts';
import { type RouteGroup, shows } from '../openapi/route-docs.ts';
import { pageOf } from '../paging.ts';
import { customersQuery } from './customers.ts';

const request = { name: 'Mary Somerville', email: 'mary@example.com' };
const customer = { id: exampleIds.customer, ...request, document: null, createdAt: '2026-11-18T08:32:22.407Z' };

export const customerDocs: RouteGroup = {
  tag: 'Customers',
  description: 'Those to whom proposals are made. An email belongs to one of them.',
  routes: {
    'POST /v1/customers': runs(createCustomer, {
      summary: 'Create a customer',
      description:
        'A document of 11 or 14 digits is taken for a CPF or CNPJ, and its check digits must be right. ' +
        'A replay shows the customer as it is now.',
      examples: {
        mary: {
          headers: { 'idempotency-key': 'signup-4711' },
          body: request,
          answer: { status: 201, body: customer },
        },
      },
    }),
    'GET /v1/customers': {
      summary: 'List customers',
      description: 'Newest first.',
      query: customersQuery,
      answers: shows('A page of customers.', pageOf(customerSchema)),
      examples: {
        newest: { query: { limit: '10' }, answer: { status: 200, body: { items: [customer], nextCursor: null } } },
      },
    },
    'GET /v1/customers/{id}': {
      summary: 'Show a customer',
      answers: shows('The customer.', customerSchema),
      examples: { mary: { path: { id: exampleIds.customer }, answer: { status: 200, body: customer } } },
    },
  },
};
