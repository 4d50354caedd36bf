import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { type Selectable, sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import { addAdminAction } from './admin-actions.ts';
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

/** A key without anything that would open something. */
export type ApiKeyRow = Omit<Selectable<ApiKeysTable>, 'digest'>;

export interface ApiKeyOwner {
  client: string;
  scopes: readonly ApiScope[];
}

export function digestOf(apiKey: string): Buffer {
  return createHash('sha256').update(apiKey).digest();
}

export async function findApiKeyOwner(
  db: Database,
  digest: Buffer,
): Promise<(ApiKeyOwner & { id: string }) | undefined> {
  const row = await db
    .selectFrom('api_keys')
    .select(['id', 'client', 'scopes', 'digest'])
    .where('digest', '=', digest)
    .where('revoked_at', 'is', null)
    .executeTakeFirst();
  if (!row || !timingSafeEqual(row.digest, digest)) return undefined;
  return { id: row.id, client: row.client, scopes: row.scopes };
}

/** Adds the key unless it is there already, revoked or not. */
export async function ensureApiKey(db: Database, apiKey: string, owner: ApiKeyOwner): Promise<void> {
  await db
    .insertInto('api_keys')
    .values({ id: uuidv7(), client: owner.client, digest: digestOf(apiKey), scopes: [...owner.scopes] })
    .onConflict((conflict) => conflict.column('digest').doNothing())
    .execute();
}

const shownColumns = ['id', 'client', 'scopes', 'created_at', 'last_used_at', 'revoked_at'] as const;

/** A new key. It is returned once and kept nowhere. */
export async function createApiKey(
  db: Database,
  owner: ApiKeyOwner,
  actor: string,
): Promise<{ apiKey: string; row: ApiKeyRow }> {
  const apiKey = `semel_${randomBytes(32).toString('base64url')}`;
  const { client, scopes: given } = owner;
  const row = await db.transaction().execute(async (tx) => {
    const created = await tx
      .insertInto('api_keys')
      .values({ id: uuidv7(), client, digest: digestOf(apiKey), scopes: [...given] })
      .returning(shownColumns)
      .executeTakeFirstOrThrow();
    const detail = { client, scopes: given };
    await addAdminAction(tx, { actor, action: 'api-key.create', subject: created.id, detail });
    return created;
  });
  return { apiKey, row };
}

/** Newest first. */
export async function listApiKeys(
  db: Database,
  page: { limit: number; before: string | undefined },
): Promise<ApiKeyRow[]> {
  let query = db.selectFrom('api_keys').select(shownColumns);
  if (page.before) query = query.where('id', '<', page.before);
  return await query.orderBy('id', 'desc').limit(page.limit).execute();
}

/** Revoked again, it stays as it is. Without any admin key nobody could make another one, so the last one stays. */
export async function revokeApiKey(
  db: Database,
  id: string,
  actor: string,
): Promise<'revoked' | 'missing' | 'last-admin'> {
  return await db.transaction().execute(async (tx) => {
    // All that count, in one order: of two who revoke the last two at once, the second sees what the first did.
    const admins = await tx
      .selectFrom('api_keys')
      .select('id')
      .where('revoked_at', 'is', null)
      .where(sql<boolean>`'admin' = any (scopes)`)
      .orderBy('id')
      .forUpdate()
      .execute();
    const key = await tx.selectFrom('api_keys').select(shownColumns).where('id', '=', id).executeTakeFirst();
    if (!key) return 'missing';
    if (key.revoked_at) return 'revoked';
    if (key.scopes.includes('admin') && admins.every((admin) => admin.id === id)) return 'last-admin';
    await tx.updateTable('api_keys').set({ revoked_at: sql<Date>`now()` }).where('id', '=', id).execute();
    const detail = { client: key.client, scopes: key.scopes };
    await addAdminAction(tx, { actor, action: 'api-key.revoke', subject: id, detail });
    return 'revoked';
  });
}

export async function noteApiKeyUses(db: Database, ids: readonly string[]): Promise<void> {
  await sql`update api_keys set last_used_at = now() where id = any (${ids}::uuid[])`.execute(db);
}
