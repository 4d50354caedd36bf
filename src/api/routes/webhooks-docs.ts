import { registerWebhook } from '../../processors/webhooks/register-webhook.ts';
import { exampleIds } from '../openapi/example-ids.ts';
import { runs } from '../openapi/operation-docs.ts';
import { type RouteGroup, shows } from '../openapi/route-docs.ts';
import { pageOf } from '../paging.ts';
import { deliverySchema, webhookSchema } from '../webhook-view.ts';
import { rotatedSecretSchema, testDeliverySchema, webhooksQuery } from './webhooks.ts';

const { webhook: id, testEvent: eventId } = exampleIds;
const request = { url: 'https://hooks.example/semel', events: ['transfer.completed', 'operation.failed'] };
const webhook = {
  id,
  ...request,
  status: 'ENABLED',
  disabledAt: null,
  disabledReason: null,
  createdAt: '2026-11-18T08:42:30.641Z',
};
const delivery = {
  id: exampleIds.delivery,
  eventId,
  type: 'webhook.test',
  status: 'PENDING',
  attempts: 0,
  lastStatus: null,
  lastError: null,
  nextAttemptAt: '2026-11-18T08:43:05.212Z',
  createdAt: '2026-11-18T08:43:05.212Z',
  deliveredAt: null,
};

export const webhookDocs: RouteGroup = {
  tag: 'Webhooks',
  description: 'Events, sent to you and signed by the Standard Webhooks scheme. Deduplicate by `webhook-id`.',
  routes: {
    'POST /v1/webhooks': runs(registerWebhook, {
      summary: 'Register a webhook',
      description: 'The answer is the only one that shows the secret. Targets in private networks are refused.',
      examples: {
        transfers: {
          headers: { 'idempotency-key': 'webhook-1' },
          body: request,
          answer: {
            status: 201,
            body: { id, ...request, secret: 'whsec_V5k0ZQ2xY7mBvR8sJ4nTqL1cH6fDgAeP3uWiOoKzXyE=' },
          },
        },
      },
    }),
    'GET /v1/webhooks': {
      summary: 'List webhooks',
      description: 'Newest first.',
      query: webhooksQuery,
      answers: shows('A page of webhooks.', pageOf(webhookSchema)),
      examples: { all: { answer: { status: 200, body: { items: [webhook], nextCursor: null } } } },
    },
    'GET /v1/webhooks/{id}': {
      summary: 'Show a webhook',
      answers: shows('The webhook, without its secret.', webhookSchema),
      examples: { transfers: { path: { id }, answer: { status: 200, body: webhook } } },
    },
    'POST /v1/webhooks/{id}/test': {
      summary: 'Send a test event',
      answers: { 202: { description: 'It is on its way.', body: testDeliverySchema } },
      problems: ['INVALID_STATE'],
      examples: { transfers: { path: { id }, answer: { status: 202, body: { eventId } } } },
    },
    'GET /v1/webhooks/{id}/deliveries': {
      summary: 'List the deliveries of a webhook',
      description: 'Newest first.',
      query: webhooksQuery,
      answers: shows('A page of deliveries.', pageOf(deliverySchema)),
      examples: {
        transfers: { path: { id }, answer: { status: 200, body: { items: [delivery], nextCursor: null } } },
      },
    },
    'POST /v1/webhooks/{id}/rotate-secret': {
      summary: 'Give a webhook a new secret',
      description: 'The old one signs as well for a day.',
      answers: shows('The new secret.', rotatedSecretSchema),
      examples: {
        transfers: {
          path: { id },
          answer: { status: 200, body: { secret: 'whsec_n9RkT2wLq6vXcB4jY8mZsE0fH5gD1aUpI7oQeWrKtNM=' } },
        },
      },
    },
    'DELETE /v1/webhooks/{id}': {
      summary: 'Delete a webhook',
      answers: { 204: { description: 'Nothing is sent to it any more.' } },
      examples: { transfers: { path: { id }, answer: { status: 204 } } },
    },
  },
};
