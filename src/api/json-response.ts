import type { ApiContext } from './api-env.ts';

/** An answer with a body. Plain header objects stay on the server's fast path, which `c.json` would leave. */
export function jsonResponse(c: ApiContext, value: unknown, status = 200): Response {
  const headers = { 'content-type': 'application/json', 'x-request-id': c.get('requestId') };
  return new Response(JSON.stringify(value), { status, headers });
}
