import { Hono } from 'hono';
import { z } from 'zod';
import { AppError } from '../../errors.ts';
import { compileMail } from '../../processors/mailings/render-mail.ts';
import type { MailMessage } from '../../store/mail/mail-transport.ts';
import { changeEntries } from '../../store/mailings/mailing-actions.ts';
import { entryStatuses, findEntry, listEntries, type MailingEntryRow } from '../../store/mailings/mailing-entries.ts';
import { findMailing } from '../../store/mailings/mailings.ts';
import { type ApiContext, type ApiEnv, type ApiParts, headerOf } from '../api-env.ts';
import { streamEntriesCsv } from '../entries-csv.ts';
import { jsonResponse } from '../json-response.ts';
import { entryView } from '../mailing-view.ts';
import { decodeCursor, encodeCursor, pageQuery } from '../paging.ts';
import { readId } from '../read-id.ts';
import { parseJson, readJsonText, validate } from '../read-json.ts';
import { actionOf, resolution, settleAction } from './mailings.ts';

export const line = z
  .string()
  .regex(/^\d{1,9}$/, 'must be the number of a line')
  .transform(Number)
  .meta({ documentedAs: { type: 'integer', minimum: 0, maximum: 999_999_999 } });
export const entriesQuery = z.strictObject({ status: z.enum(entryStatuses).optional(), ...pageQuery });
export const previewSchema = z
  .strictObject({
    from: z.string(),
    to: z.string(),
    subject: z.string(),
    text: z.string().optional(),
    html: z.string().optional(),
    messageId: z.string(),
    unsubscribeUrl: z.string().optional(),
  })
  .meta({ id: 'MailPreview' }) satisfies z.ZodType<MailMessage>;
export const previewQuery = z.strictObject({ line: line.optional() });

/** The rows of a mailing's file. Each is known by its line. */
export function entryRoutes(parts: ApiParts): Hono<ApiEnv> {
  const findOwn = async (c: ApiContext) =>
    (await findMailing(parts.db, c.get('caller').client, readId(c))) ?? notFound('mailing');
  const findRow = async (mailingId: string, wanted: number) =>
    (await findEntry(parts.db, mailingId, wanted)) ?? notFound('line');

  return new Hono<ApiEnv>()
    .get('/:id/entries', async (c) => {
      const { limit, cursor, status } = validate(entriesQuery, c.req.query());
      const mailing = await findOwn(c);
      if (/\btext\/csv\b/i.test(headerOf(c, 'accept') ?? '')) return streamEntriesCsv(parts.db, c, mailing, { status });
      const after = decodeCursor(cursor, line) ?? 0;
      const rows = await listEntries(parts.db, mailing.id, { status }, { limit: limit + 1, after });
      const shown = rows.slice(0, limit);
      const last = rows.length > limit ? shown.at(-1) : undefined;
      return jsonResponse(c, { items: shown.map(entryView), nextCursor: last ? encodeCursor(last.line) : null });
    })
    .get('/:id/preview', async (c) => {
      const query = validate(previewQuery, c.req.query());
      const mailing = await findOwn(c);
      const entry =
        query.line === undefined ? await findFirstValid(parts, mailing.id) : await findRow(mailing.id, query.line);
      if (entry?.email == null) throw new AppError('NOT_FOUND', 'There is no row with an address to show yet.');
      const { email, token } = entry;
      const cells = entry.cells === null ? null : (JSON.parse(entry.cells) as string[]);
      const render = compileMail(mailing, parts.mailings.links);
      return jsonResponse(c, render({ line: entry.line, email, token, cells }));
    })
    .post('/:id/entries/:line/resolve', async (c) => {
      const { outcome, note } = validate(resolution, parseJson(await readJsonText(c)));
      const to = outcome === 'applied' ? 'SENT' : 'FAILED';
      return await changeOne(c, { to, note: note ?? 'resolved by a person' });
    })
    .post('/:id/entries/:line/resend', async (c) => await changeOne(c, { to: 'PENDING', note: 'sent again' }));

  async function changeOne(c: ApiContext, change: { to: 'PENDING' | 'SENT' | 'FAILED'; note: string }) {
    const mailing = await findOwn(c);
    const entry = await findRow(mailing.id, validate(line, c.req.param('line')));
    const result = await changeEntries(parts.db, actionOf(c), { from: 'UNKNOWN', lines: [entry.line], ...change });
    await settleAction(parts, result);
    if (result.changed === 0) throw notInDoubt(entry);
    return jsonResponse(c, entryView(await findRow(mailing.id, entry.line)));
  }
}

async function findFirstValid(parts: ApiParts, mailingId: string): Promise<MailingEntryRow | undefined> {
  const rows = await listEntries(parts.db, mailingId, {}, { limit: 200, after: 0 });
  return rows.find((row) => row.status !== 'INVALID');
}

function notInDoubt({ status }: MailingEntryRow): AppError {
  const detail = `The entry is ${status}; only what is UNKNOWN can be resolved or sent again.`;
  return new AppError('INVALID_STATE', detail, { extra: { currentStatus: status, effect: 'not_applied' } });
}

function notFound(what: string): never {
  throw new AppError('NOT_FOUND', `There is no such ${what}.`);
}
