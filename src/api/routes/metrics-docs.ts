import { z } from 'zod';
import type { RouteGroup } from '../openapi/route-docs.ts';

export const metricsDocs: RouteGroup = {
  tag: 'Metrics',
  description: 'What the service counts and measures, for Prometheus.',
  routes: {
    'GET /metrics': {
      summary: 'Show what is measured',
      description: 'With a key of scope `admin`, or without one from the machine itself.',
      access: 'admin',
      isOpenToItself: true,
      answers: { 200: { description: 'The text format of Prometheus.', otherTypes: { 'text/plain': z.string() } } },
      examples: { scrape: { answer: { status: 200, type: 'text/plain' } } },
    },
  },
};
