import { type RouteGroup, shows } from '../../openapi/route-docs.ts';
import { duplicateStatsSchema, idempotencyHealthSchema, statsQuery } from './idempotency.ts';

export const idempotencyDocs: RouteGroup = {
  tag: 'Administration',
  description: 'For operators, across all clients: how it goes.',
  routes: {
    'GET /v1/admin/idempotency/health': {
      summary: 'Show how it goes',
      description: '`degraded` if records are stuck, or nobody can tell what became of some.',
      answers: shows('How many records there are in each state.', idempotencyHealthSchema),
      examples: {
        now: {
          answer: {
            status: 200,
            body: {
              status: 'degraded',
              reasons: ['1 are UNKNOWN: a person has to say what became of them'],
              totalRecords: 1204,
              queued: 0,
              processing: 2,
              succeeded: 1189,
              rejected: 11,
              failed: 1,
              unknown: 1,
              stuck: 0,
              oldestUnfinishedAt: '2026-11-18T08:50:01.337Z',
              cacheHitRate: 0.98,
            },
          },
        },
      },
    },
    'GET /v1/admin/idempotency/stats/duplicates': {
      summary: 'Count duplicates',
      description: 'From hourly counters, exact over all processes and restarts.',
      query: statsQuery,
      answers: shows('Requests, duplicates and mismatches of each operation.', duplicateStatsSchema),
      examples: {
        day: {
          query: { hours: '24' },
          answer: {
            status: 200,
            body: {
              hours: 24,
              totalRequests: 1250,
              duplicateRequests: 50,
              duplicateRate: 0.04,
              byOperation: [{ operation: 'transfer.create', requests: 1250, duplicates: 50, mismatches: 1 }],
            },
          },
        },
      },
    },
  },
};
