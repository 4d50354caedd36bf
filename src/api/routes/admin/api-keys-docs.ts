import { z } from 'zod';
import { apiKeySchema } from '../../admin-view.ts';
import { exampleIds } from '../../openapi/example-ids.ts';
import { type RouteGroup, shows } from '../../openapi/route-docs.ts';
import { pageOf } from '../../paging.ts';
import { apiKeysQuery, newKey } from './api-keys.ts';

const { shopKey: id, operatorKey } = exampleIds;
const createdAt = '2026-11-18T08:55:40.906Z';
const owner = { client: 'shop', scopes: ['operate'] };
const shop = { id, ...owner, createdAt, lastUsedAt: null, revokedAt: null };
const operator = { ...shop, id: operatorKey, client: 'default', scopes: ['admin'], lastUsedAt: createdAt };

export const apiKeyDocs: RouteGroup = {
  tag: 'API keys',
  description: 'For operators: who may come in. Only digests of keys are kept.',
  routes: {
    'POST /v1/admin/api-keys': {
      summary: 'Make an API key',
      description: 'The answer is the only place where the key is shown.',
      body: newKey,
      answers: { 201: { description: 'The key.', body: apiKeySchema.extend({ key: z.string() }) } },
      examples: {
        shop: {
          body: owner,
          answer: { status: 201, body: { ...shop, key: 'semel_Zk3vQ8pX0rT6wLyB1nC9sHd4eFgJ7aMuK2iOoP5qRtU' } },
        },
      },
    },
    'GET /v1/admin/api-keys': {
      summary: 'List API keys',
      description: 'Newest first, also those that were revoked.',
      query: apiKeysQuery,
      answers: shows('A page of keys, without what opens anything.', pageOf(apiKeySchema)),
      examples: { all: { answer: { status: 200, body: { items: [shop, operator], nextCursor: null } } } },
    },
    'DELETE /v1/admin/api-keys/{id}': {
      summary: 'Revoke an API key',
      description: 'It is refused everywhere within seconds. The last one of scope `admin` cannot be revoked.',
      answers: { 204: { description: 'It is revoked.' } },
      problems: ['LAST_ADMIN_KEY'],
      examples: { shop: { path: { id }, answer: { status: 204 } } },
    },
  },
};
