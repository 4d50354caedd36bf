import { Hono } from 'hono';
import { z } from 'zod';
import { AppError } from '../../errors.ts';
import { id, instant, text } from '../../processors/fields.ts';
import { normalizeAddress } from '../../processors/mailings/addresses/normalize-address.ts';
import {
  addSuppression,
  listSuppressions,
  removeSuppression,
  type SuppressionRow,
  suppressionReasons,
} from '../../store/mailings/suppressions.ts';
import type { ApiEnv, ApiParts } from '../api-env.ts';
import { jsonResponse } from '../json-response.ts';
import { decodeCursor, pageQuery, toPage } from '../paging.ts';
import { parseJson, readJsonText, validate } from '../read-json.ts';

/** More than any address has, with room for spaces around it. */
const maxAddressLength = 320;

export const suppressionsQuery = z.strictObject(pageQuery);
export const newSuppression = z.strictObject({ email: z.string().max(maxAddressLength) });

/** The addresses to which a client sends nothing any more: unsubscribed, bounced, or added by hand. */
export function suppressionRoutes({ db }: ApiParts): Hono<ApiEnv> {
  return new Hono<ApiEnv>()
    .get('/', async (c) => {
      const { limit, cursor } = validate(suppressionsQuery, c.req.query());
      const after = decodeCursor(cursor, text(maxAddressLength));
      const rows = await listSuppressions(db, c.get('caller').client, { limit: limit + 1, after });
      const page = rows.map((row) => ({ ...row, id: row.email }));
      return jsonResponse(c, toPage(page, limit, suppressionView));
    })
    .post('/', async (c) => {
      const email = readAddress(validate(newSuppression, parseJson(await readJsonText(c))).email);
      const { client } = c.get('caller');
      return jsonResponse(
        c,
        suppressionView(await addSuppression(db, { client, email, reason: 'added', mailing_id: null })),
      );
    })
    .delete('/:email', async (c) => {
      const isRemoved = await removeSuppression(db, c.get('caller').client, readAddress(c.req.param('email')));
      if (!isRemoved) throw new AppError('NOT_FOUND', 'The address is not on the list.');
      return new Response(null, { status: 204, headers: { 'x-request-id': c.get('requestId') } });
    });
}

export const suppressionSchema = z
  .strictObject({ email: z.string(), reason: z.enum(suppressionReasons), mailingId: id.nullable(), createdAt: instant })
  .meta({ id: 'Suppression' });

function suppressionView(row: SuppressionRow): z.infer<typeof suppressionSchema> {
  const { email, reason, mailing_id: mailingId } = row;
  return { email, reason, mailingId, createdAt: row.created_at.toISOString() };
}

function readAddress(given: string): string {
  const email = normalizeAddress(given);
  if (email !== undefined) return email;
  const errors = [{ path: 'email', message: 'is not an address' }];
  throw new AppError('INVALID_REQUEST', 'Not valid: email is not an address.', { extra: { errors } });
}
