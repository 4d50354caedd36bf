import type { MiddlewareHandler } from 'hono';
import { LRUCache } from 'lru-cache';
import { AppError } from '../errors.ts';
import { type ApiScope, digestOf, findApiKeyOwner } from '../store/api-keys.ts';
import { answerInTime } from './answer-in-time.ts';
import { type ApiEnv, type ApiParts, type Caller, headerOf } from './api-env.ts';

/** A revoked key is refused everywhere after this time at the latest, and usually at once. */
const rememberedMs = 10_000;
export const subClientPattern = /^[A-Za-z0-9._-]{1,64}$/;
const bearer = /^Bearer +([\x21-\x7e]{1,256})$/i;

/** Lets in who has a key, the scope to operate, and requests left in this minute. */
export function admit(
  parts: Pick<ApiParts, 'db' | 'consumeRateLimit'> & Partial<Pick<ApiParts, 'keyUses' | 'keyChanges'>>,
): MiddlewareHandler<ApiEnv> {
  const owners = new LRUCache<string, KeyOwner>({ max: 10_000, ttl: rememberedMs });
  parts.keyChanges?.onChange(() => owners.clear());

  /** Keys are looked up and remembered by their digest only. */
  const findOwner = async (apiKey: string): Promise<KeyOwner | undefined> => {
    const digest = digestOf(apiKey);
    const name = digest.toString('base64');
    const remembered = owners.get(name);
    if (remembered) return remembered;
    const owner = await answerInTime(findApiKeyOwner(parts.db, digest));
    if (owner) {
      owners.set(name, owner);
      parts.keyUses?.note(owner.id);
    }
    return owner;
  };

  return async (c, next) => {
    const apiKey = bearer.exec(headerOf(c, 'authorization') ?? '')?.[1];
    const owner = apiKey === undefined ? undefined : await findOwner(apiKey);
    if (!owner) throw new AppError('UNAUTHENTICATED', 'Send a valid key as "Authorization: Bearer <api key>".');
    const { id: keyId, client, scopes } = owner;
    requireScope(scopes, 'operate');
    c.set('caller', { client, subClient: readSubClient(headerOf(c, 'x-client-id')), scopes, keyId });
    await parts.consumeRateLimit(client);
    // A write has a deadline of its own, with a wait that is wanted.
    await (c.req.method === 'GET' ? answerInTime(next()) : next());
  };
}

type KeyOwner = Pick<Caller, 'client' | 'scopes'> & { id: string };

/** Lets in operators only. It comes after `admit`. */
export const admitAdmin: MiddlewareHandler<ApiEnv> = async (c, next) => {
  requireScope(c.get('caller').scopes, 'admin');
  await next();
};

/** An admin may do all that an operator of operations may. */
export function requireScope(scopes: readonly ApiScope[], scope: ApiScope): void {
  if (scopes.includes(scope) || scopes.includes('admin')) return;
  throw new AppError('FORBIDDEN', `The API key lacks the scope ${scope}.`);
}

function readSubClient(header: string | undefined): string {
  if (header === undefined) return '';
  if (subClientPattern.test(header)) return header;
  const message = 'must be 1 to 64 of A-Z a-z 0-9 . _ -';
  throw new AppError('INVALID_REQUEST', `X-Client-ID ${message}.`, {
    extra: { errors: [{ path: 'X-Client-ID', message }] },
  });
}
