import { z } from 'zod';
import type { RouteGroup } from '../openapi/route-docs.ts';

export const documentationDocs: RouteGroup = {
  tag: 'Documentation',
  description: 'This description, for programs and for people, without a key.',
  routes: {
    'GET /openapi.json': {
      summary: 'Describe the API in OpenAPI 3.1',
      answers: { 200: { description: 'This document.', body: z.looseObject({ openapi: z.string() }) } },
      examples: { document: { answer: { status: 200 } } },
    },
    'GET /docs': {
      summary: 'Show the reference',
      answers: {
        200: {
          description: 'A page.',
          otherTypes: { 'text/html': z.string() },
          headers: ['Content-Security-Policy'],
        },
      },
      examples: { page: { answer: { status: 200, type: 'text/html' } } },
    },
  },
};
