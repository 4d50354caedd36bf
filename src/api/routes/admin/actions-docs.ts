import { adminActionSchema } from '../../admin-view.ts';
import { exampleIds } from '../../openapi/example-ids.ts';
import { type RouteGroup, shows } from '../../openapi/route-docs.ts';
import { pageOf } from '../../paging.ts';
import { actionsQuery } from './admin-routes.ts';

const action = {
  id: exampleIds.adminAction,
  at: '2026-11-18T08:55:40.906Z',
  actor: `admin:default:${exampleIds.operatorKey}`,
  action: 'api-key.create',
  subject: exampleIds.shopKey,
  detail: { client: 'shop', scopes: ['operate'] },
};

export const actionDocs: RouteGroup = {
  tag: 'Actions',
  description: 'For operators: what operators did that is in the trail of no record.',
  routes: {
    'GET /v1/admin/actions': {
      summary: 'List what operators did',
      description: 'Newest first.',
      query: actionsQuery,
      answers: shows('A page of actions.', pageOf(adminActionSchema)),
      examples: {
        latest: { query: { limit: '1' }, answer: { status: 200, body: { items: [action], nextCursor: 'MDFh' } } },
      },
    },
  },
};
