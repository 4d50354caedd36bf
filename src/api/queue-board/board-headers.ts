import type { MiddlewareHandler } from 'hono';
import type { ApiEnv } from '../api-env.ts';

// Everything comes from this server: no script, font or picture of anybody else's. Bull Board sets styles on elements.
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "frame-ancestors 'none'",
  "form-action 'none'",
  "base-uri 'self'",
].join('; ');

/** Bull Board's page asks another host for its fonts, which a closed network does not reach and nobody needs to know. */
const outsideLink = /<link [^>]*href="https?:\/\/[^>]*>/g;

/** Keeps Bull Board's page to itself. */
export const sealBoard: MiddlewareHandler<ApiEnv> = async (c, next) => {
  await next();
  if (c.res.headers.get('content-type')?.startsWith('text/html')) {
    const html = await c.res.text();
    c.res = new Response(html.replace(outsideLink, ''), { status: c.res.status, headers: c.res.headers });
  }
  const isAsset = c.req.path.startsWith('/queues/static/') && c.res.status === 200;
  c.header('content-security-policy', contentSecurityPolicy);
  c.header('referrer-policy', 'same-origin');
  c.header('x-content-type-options', 'nosniff');
  c.header('x-frame-options', 'DENY');
  c.header('x-robots-tag', 'noindex');
  // The names of assets change with their content; what is told of jobs is nobody else's business.
  c.header('cache-control', isAsset ? 'private, max-age=86400' : 'no-store');
  c.header('x-request-id', c.get('requestId'));
};
