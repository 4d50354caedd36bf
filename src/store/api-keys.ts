import { createHash, timingSafeEqual } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import type { Instant, NullableInstant } from './columns.ts';
import type { Database } from './database.ts';

export const scopes = ['operate', 'admin'] as const;
export type ApiScope = (typeof scopes)[number];

export interface ApiKeysTable {
  id: string;
  client: string;
  digest: Buffer;
  scopes: ApiScope[];
  created_at: Instant;
  last_used_at: NullableInstant;
  revoked_at: NullableInstant;
}

export interface ApiKeyOwner {
  client: string;
  scopes: readonly ApiScope[];
}

export function digestOf(apiKey: string): Buffer {
  return createHash('sha256').update(apiKey).digest();
}

export async function findApiKeyOwner(db: Database, digest: Buffer): Promise<ApiKeyOwner | undefined> {
  const row = await db
    .selectFrom('api_keys')
    .select(['client', 'scopes', 'digest'])
    .where('digest', '=', digest)
    .where('revoked_at', 'is', null)
    .executeTakeFirst();
  return row && timingSafeEqual(row.digest, digest) ? { client: row.client, scopes: row.scopes } : undefined;
}

/** Adds the key unless it is there already, revoked or not. */
export async function ensureApiKey(db: Database, apiKey: string, owner: ApiKeyOwner): Promise<void> {
  await db
    .insertInto('api_keys')
    .values({ id: uuidv7(), client: owner.client, digest: digestOf(apiKey), scopes: [...owner.scopes] })
    .onConflict((conflict) => conflict.column('digest').doNothing())
    .execute();
}
