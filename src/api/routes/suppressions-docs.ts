import { z } from 'zod';
import { type RouteGroup, shows } from '../openapi/route-docs.ts';
import { pageOf } from '../paging.ts';
import { newSuppression, suppressionSchema, suppressionsQuery } from './suppressions.ts';

const email = 'no-more@example.com';
const added = { email, reason: 'added', mailingId: null, createdAt: '2026-11-18T08:41:12.075Z' };

export const suppressionDocs: RouteGroup = {
  tag: 'Suppressions',
  description: 'The addresses to which no mail is sent any more: unsubscribed, bounced, or added by hand.',
  routes: {
    'POST /v1/suppressions': {
      summary: 'Suppress an address',
      description: 'An address that is on the list already stays there.',
      body: newSuppression,
      answers: shows('The address is on the list.', suppressionSchema),
      examples: { add: { body: { email }, answer: { status: 200, body: added } } },
    },
    'GET /v1/suppressions': {
      summary: 'List suppressed addresses',
      description: 'By address.',
      query: suppressionsQuery,
      answers: shows('A page of addresses.', pageOf(suppressionSchema)),
      examples: {
        first: { query: { limit: '1' }, answer: { status: 200, body: { items: [added], nextCursor: null } } },
      },
    },
    'DELETE /v1/suppressions/{email}': {
      summary: 'Take an address off the list',
      path: { email: z.string().describe('The address.') },
      answers: { 204: { description: 'It gets mail again.' } },
      problems: ['NOT_FOUND'],
      examples: { remove: { path: { email }, answer: { status: 204 } } },
    },
  },
};
