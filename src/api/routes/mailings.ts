import { Hono } from 'hono';
import { z } from 'zod';
import { AppError } from '../../errors.ts';
import {
  type ActionResult,
  cancelMailing,
  changeEntries,
  type MailingAction,
  pauseMailing,
  resumeMailing,
} from '../../store/mailings/mailing-actions.ts';
import { listMailingHistory } from '../../store/mailings/mailing-history.ts';
import { findMailing, listMailings, mailingStatuses } from '../../store/mailings/mailings.ts';
import type { ApiContext, ApiEnv, ApiParts } from '../api-env.ts';
import { jsonResponse } from '../json-response.ts';
import { streamProgress } from '../mailing-events.ts';
import { historyView, mailingView } from '../mailing-view.ts';
import { decodeCursor, pageQuery, toPage } from '../paging.ts';
import { readId } from '../read-id.ts';
import { parseJson, readJsonText, validate } from '../read-json.ts';
import { entryRoutes } from './mailing-entries.ts';
import { uploadRoute } from './mailing-upload.ts';

export const mailingsQuery = z.strictObject({ status: z.enum(mailingStatuses).optional(), ...pageQuery });

/** What a person found out about mails in doubt. */
export const resolution = z.strictObject({
  outcome: z.enum(['applied', 'not_applied']),
  note: z.string().max(500).optional(),
});

export function mailingRoutes(parts: ApiParts): Hono<ApiEnv> {
  const findOwn = async (c: ApiContext) => {
    const mailing = await findMailing(parts.db, c.get('caller').client, readId(c));
    return mailing ?? notFound();
  };
  const act = (perform: (action: MailingAction) => Promise<ActionResult>) => async (c: ApiContext) => {
    await settleAction(parts, await perform(actionOf(c)));
    return jsonResponse(c, mailingView(await findOwn(c)));
  };

  return new Hono<ApiEnv>()
    .post('/', uploadRoute(parts))
    .get('/', async (c) => {
      const { limit, cursor, status } = validate(mailingsQuery, c.req.query());
      const before = decodeCursor(cursor, z.uuid());
      const rows = await listMailings(parts.db, c.get('caller').client, { status }, { limit: limit + 1, before });
      return jsonResponse(c, toPage(rows, limit, mailingView));
    })
    .get('/:id', async (c) => jsonResponse(c, mailingView(await findOwn(c))))
    .get('/:id/events', async (c) => streamProgress(parts, c, (await findOwn(c)).id))
    .get('/:id/history', async (c) => {
      const rows = await listMailingHistory(parts.db, (await findOwn(c)).id);
      return jsonResponse(c, { items: rows.map(historyView) });
    })
    .post(
      '/:id/pause',
      act((action) => pauseMailing(parts.db, action)),
    )
    .post(
      '/:id/resume',
      act((action) => resumeMailing(parts.db, action)),
    )
    .post(
      '/:id/cancel',
      act((action) => cancelMailing(parts.db, action)),
    )
    .post(
      '/:id/retry-failed',
      act((action) => changeEntries(parts.db, action, { from: 'FAILED', to: 'PENDING', note: 'sent again' })),
    )
    .post(
      '/:id/resend-unknown',
      act((action) => changeEntries(parts.db, action, { from: 'UNKNOWN', to: 'PENDING', note: 'sent again' })),
    )
    .post('/:id/resolve-unknown', async (c) => {
      const { outcome, note } = validate(resolution, parseJson(await readJsonText(c)));
      const to = outcome === 'applied' ? 'SENT' : 'FAILED';
      const change = { from: 'UNKNOWN', to, note: note ?? 'resolved by a person' } as const;
      await settleAction(parts, await changeEntries(parts.db, actionOf(c), change));
      return jsonResponse(c, mailingView(await findOwn(c)));
    })
    .route('/', entryRoutes(parts));
}

export function actionOf(c: ApiContext): MailingAction {
  const { client, subClient } = c.get('caller');
  return { client, id: readId(c), actor: subClient === '' ? `client:${client}` : `client:${client}@${subClient}` };
}

/** Adds the jobs that follow from an action, or says why there was none. */
export async function settleAction(parts: ApiParts, result: ActionResult): Promise<void> {
  if (result.kind === 'missing') return notFound();
  if (result.kind === 'refused') {
    const detail = `The mailing is ${result.status}, which does not allow this.`;
    throw new AppError('INVALID_STATE', detail, { extra: { currentStatus: result.status, effect: 'not_applied' } });
  }
  await parts.mailings.addJobs(result.jobs);
}

function notFound(): never {
  throw new AppError('NOT_FOUND', 'There is no such mailing.');
}
