import { createHash, timingSafeEqual } from 'node:crypto';
import type { MiddlewareHandler } from 'hono';
import { auth as readBasicCredentials } from 'hono/utils/basic-auth';
import { AppError } from '../../errors.ts';
import { type ApiEnv, headerOf } from '../api-env.ts';
import type { LoginLimit } from './login-limit.ts';

export interface AdminLogin {
  /** Unset: nobody can log in, and the pages say why. */
  password: string | undefined;
  limit: LoginLimit;
}

export const adminUser = 'admin';
const challenge = { 'www-authenticate': 'Basic realm="Semel", charset="UTF-8"' };

/** Lets in the administrator, by HTTP Basic, on the pages that a browser opens. */
export function requireAdmin({ password, limit }: AdminLogin): MiddlewareHandler<ApiEnv> {
  if (password === undefined) {
    return async () => {
      throw new AppError(
        'NOT_FOUND',
        'The pages for administrators are off. Set SEMEL_ADMIN_PASSWORD to turn them on.',
      );
    };
  }
  const expected = digestOf({ username: adminUser, password });
  return async (c, next) => {
    const credentials = readBasicCredentials(c.req.raw);
    if (!credentials) throw unauthenticated('Log in as user "admin" with SEMEL_ADMIN_PASSWORD.');
    const address = c.env.incoming.socket.remoteAddress ?? '';
    if (!timingSafeEqual(digestOf(credentials), expected)) {
      await limit.countFailure(address);
      throw unauthenticated('The user is "admin" and the password is SEMEL_ADMIN_PASSWORD. These were others.');
    }
    // Also for who is right, or the limit would tell which guess was.
    await limit.check(address);
    refuseOtherSites(c.req.method, {
      site: headerOf(c, 'sec-fetch-site'),
      origin: headerOf(c, 'origin'),
      host: headerOf(c, 'host'),
    });
    await next();
  };
}

/**
 * A browser adds the password to requests that other sites make, too. It also says where they come from; whoever does
 * not say is no browser.
 */
function refuseOtherSites(
  method: string,
  from: { site: string | undefined; origin: string | undefined; host: string | undefined },
): void {
  if (method === 'GET' || method === 'HEAD') return;
  const isOwn = from.site !== undefined ? from.site === 'same-origin' : from.origin === undefined || isSameHost(from);
  if (!isOwn) throw new AppError('FORBIDDEN', 'This may only be asked for by a page of Semel itself.');
}

function isSameHost({ origin, host }: { origin: string | undefined; host: string | undefined }): boolean {
  return origin !== undefined && URL.canParse(origin) && new URL(origin).host === host?.toLowerCase();
}

/** Of equal length, whatever was typed, so that comparing takes the same time. A user's name has no colon. */
function digestOf({ username, password }: { username: string; password: string }): Buffer {
  return createHash('sha256').update(`${username}:${password}`).digest();
}

function unauthenticated(detail: string): AppError {
  return new AppError('UNAUTHENTICATED', detail, { headers: challenge });
}
