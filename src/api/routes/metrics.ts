import { isIP } from 'node:net';
import { Hono, type MiddlewareHandler } from 'hono';
import { type ApiContext, type ApiEnv, type ApiParts, headerOf } from '../api-env.ts';
import { admit, requireScope } from '../authenticate.ts';

/** The version of the text format that prom-client writes. */
const contentType = 'text/plain; version=0.0.4; charset=utf-8';

/** For Prometheus: with a key of scope `admin`, or without one from this machine itself. */
export function metricsRoutes(parts: Pick<ApiParts, 'db' | 'consumeRateLimit' | 'scrape'>): Hono<ApiEnv> {
  return new Hono<ApiEnv>().get('/', admitScraper(parts), async (c) => {
    const headers = { 'content-type': contentType, 'x-request-id': c.get('requestId'), 'cache-control': 'no-store' };
    return new Response(await parts.scrape(), { headers });
  });
}

function admitScraper(parts: Pick<ApiParts, 'db' | 'consumeRateLimit'>): MiddlewareHandler<ApiEnv> {
  const admitKey = admit(parts);
  return async (c, next) => {
    if (isFromHere(c)) return await next();
    return await admitKey(c, async () => {
      requireScope(c.get('caller').scopes, 'admin');
      await next();
    });
  };
}

const forwardingHeaders = ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via'];

/** By the connection itself. A proxy on this machine speaks for somebody else, and says so. */
function isFromHere(c: ApiContext): boolean {
  const address = c.env.incoming.socket.remoteAddress ?? '';
  const isForwarded = forwardingHeaders.some((name) => headerOf(c, name) !== undefined);
  return !isForwarded && isLoopback(address);
}

export function isLoopback(address: string): boolean {
  const plain = address.replace(/^::ffff:/i, '');
  return isIP(plain) === 4 ? plain.startsWith('127.') : plain === '::1';
}
