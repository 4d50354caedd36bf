import { Hono } from 'hono';
import { z } from 'zod';
import { AppError } from '../../../errors.ts';
import { createApiKey, listApiKeys, revokeApiKey, scopes } from '../../../store/api-keys.ts';
import { adminActorOf, apiKeyView } from '../../admin-view.ts';
import type { ApiEnv, ApiParts } from '../../api-env.ts';
import { jsonResponse } from '../../json-response.ts';
import { decodeCursor, pageQuery, toPage } from '../../paging.ts';
import { readId } from '../../read-id.ts';
import { parseJson, readJsonText, validate } from '../../read-json.ts';

export const newKey = z.strictObject({
  client: z.string().regex(/^[A-Za-z0-9._-]{1,64}$/, 'must be 1 to 64 of A-Z a-z 0-9 . _ -'),
  scopes: z
    .array(z.enum(scopes))
    .min(1)
    .max(scopes.length)
    .refine((list) => new Set(list).size === list.length, 'must not name a scope twice'),
});
export const apiKeysQuery = z.strictObject(pageQuery);

/** Who may come in. A key itself is shown once, when it is made. */
export function apiKeyRoutes({ db, keyUses, keyChanges }: ApiParts): Hono<ApiEnv> {
  return new Hono<ApiEnv>()
    .post('/', async (c) => {
      const owner = validate(newKey, parseJson(await readJsonText(c)));
      const { apiKey, row } = await createApiKey(db, owner, adminActorOf(c.get('caller')));
      return jsonResponse(c, { ...apiKeyView(row), key: apiKey }, 201);
    })
    .get('/', async (c) => {
      const { limit, cursor } = validate(apiKeysQuery, c.req.query());
      await keyUses.flush();
      const rows = await listApiKeys(db, { limit: limit + 1, before: decodeCursor(cursor, z.uuid()) });
      return jsonResponse(c, toPage(rows, limit, apiKeyView));
    })
    .delete('/:id', async (c) => {
      const outcome = await revokeApiKey(db, readId(c), adminActorOf(c.get('caller')));
      if (outcome === 'missing') throw new AppError('NOT_FOUND', 'There is no such API key.');
      if (outcome === 'last-admin') {
        throw new AppError('LAST_ADMIN_KEY', 'Nobody could make another key without it. Make another admin key first.');
      }
      await keyChanges.announce();
      return new Response(null, { status: 204, headers: { 'x-request-id': c.get('requestId') } });
    });
}
