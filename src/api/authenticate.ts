import type { MiddlewareHandler } from 'hono';
import { LRUCache } from 'lru-cache';
import { AppError } from '../errors.ts';
import { type ApiKeyOwner, type ApiScope, digestOf, findApiKeyOwner } from '../store/api-keys.ts';
import type { Database } from '../store/database.ts';
import { type ApiEnv, headerOf } from './api-env.ts';

/** A revoked key is refused everywhere after this time at the latest. */
const rememberedMs = 10_000;
const subClientPattern = /^[A-Za-z0-9._-]{1,64}$/;
const bearer = /^Bearer +([\x21-\x7e]{1,256})$/i;

/** Finds out who calls. Keys are looked up and remembered by their digest only. */
export function authenticate(db: Database): MiddlewareHandler<ApiEnv> {
  const owners = new LRUCache<string, ApiKeyOwner>({ max: 10_000, ttl: rememberedMs });

  const findOwner = async (apiKey: string): Promise<ApiKeyOwner | undefined> => {
    const digest = digestOf(apiKey);
    const name = digest.toString('base64');
    const remembered = owners.get(name);
    if (remembered) return remembered;
    const owner = await findApiKeyOwner(db, digest);
    if (owner) owners.set(name, owner);
    return owner;
  };

  return async (c, next) => {
    const apiKey = bearer.exec(headerOf(c, 'authorization') ?? '')?.[1];
    const owner = apiKey === undefined ? undefined : await findOwner(apiKey);
    if (!owner) throw new AppError('UNAUTHENTICATED', 'Send a valid key as "Authorization: Bearer <api key>".');
    c.set('caller', {
      client: owner.client,
      subClient: readSubClient(headerOf(c, 'x-client-id')),
      scopes: owner.scopes,
    });
    await next();
  };
}

/** An admin may do all that an operator of operations may. */
export function requireScope(scope: ApiScope): MiddlewareHandler<ApiEnv> {
  return async (c, next) => {
    const { scopes } = c.get('caller');
    if (!scopes.includes(scope) && !scopes.includes('admin')) {
      throw new AppError('FORBIDDEN', `The API key lacks the scope ${scope}.`);
    }
    await next();
  };
}

function readSubClient(header: string | undefined): string {
  if (header === undefined) return '';
  if (subClientPattern.test(header)) return header;
  const message = 'must be 1 to 64 of A-Z a-z 0-9 . _ -';
  throw new AppError('INVALID_REQUEST', `X-Client-ID ${message}.`, {
    extra: { errors: [{ path: 'X-Client-ID', message }] },
  });
}
