import { z } from 'zod';
import { healthReportSchema, healthStatus } from '../health-report.ts';
import type { RouteGroup } from '../openapi/route-docs.ts';

const ok = { status: 'ok', responseTimeMs: 0.8 };
const short = z.strictObject({ status: healthStatus });

export const healthDocs: RouteGroup = {
  tag: 'Health',
  description: 'For load balancers and people, without a key.',
  routes: {
    'GET /health': {
      summary: 'Show how the service is',
      answers: {
        200: { description: 'Requests are taken.', body: healthReportSchema },
        503: { description: 'Nothing can be taken.', body: healthReportSchema },
      },
      examples: {
        fine: {
          answer: {
            status: 200,
            body: {
              status: 'ok',
              checks: {
                database: ok,
                migrations: ok,
                redis: ok,
                clock: { ...ok, postgresOffsetMs: 0, redisOffsetMs: 1 },
                storage: ok,
                outbox: { ...ok, pending: 0, lagSeconds: 0, quarantined: 0 },
                workers: { ...ok, count: 1 },
              },
            },
          },
        },
      },
    },
    'GET /health/live': {
      summary: 'Tell whether the process answers',
      answers: { 200: { description: 'It does.', body: short } },
      examples: { fine: { answer: { status: 200, body: { status: 'ok' } } } },
    },
    'GET /health/ready': {
      summary: 'Tell whether requests can be taken',
      answers: {
        200: { description: 'They can.', body: short },
        503: { description: 'They cannot.', body: short },
      },
      examples: { fine: { answer: { status: 200, body: { status: 'ok' } } } },
    },
  },
};
