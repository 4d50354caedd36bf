import { Hono } from 'hono';
import type { ApiEnv, ApiParts } from '../api-env.ts';
import { createDocument } from '../openapi/document.ts';

/** What there is, for programs and for people. Open to all: it is the same for everybody. */
export function documentationRoutes({ registry }: Pick<ApiParts, 'registry'>): Hono<ApiEnv> {
  // Made when it is first asked for: it is no use to most processes, and costs some milliseconds.
  let text: string | undefined;
  return new Hono<ApiEnv>().get('/openapi.json', (c) => {
    text ??= JSON.stringify(createDocument(registry));
    const headers = {
      'content-type': 'application/json',
      'cache-control': 'no-cache',
      'x-request-id': c.get('requestId'),
    };
    return new Response(text, { headers });
  });
}
