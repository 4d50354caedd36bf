import { Hono } from 'hono';
import { z } from 'zod';
import { AppError } from '../../../errors.ts';
import { countOf, discardDeadLetter, retryDeadLetter, retryMatching } from '../../../queues/retry-dead-letters.ts';
import {
  type DeadLetterFilter,
  findDeadLetter,
  listDeadLetters,
  summarizeDeadLetters,
} from '../../../store/dead-letter-queries.ts';
import { adminActorOf, deadLetterSubject, deadLetterView, type dryRunSchema } from '../../admin-view.ts';
import type { ApiContext, ApiEnv, ApiParts } from '../../api-env.ts';
import { jsonResponse } from '../../json-response.ts';
import { decodeCursor, encodeCursor, pageQuery } from '../../paging.ts';
import { readId } from '../../read-id.ts';
import { hasBody, parseJson, readJsonText, validate } from '../../read-json.ts';
import { filterText, requiredText } from './texts.ts';

const moment = z.iso.datetime({ offset: true, message: 'must be a time such as 2030-01-31T12:00:00Z' });
const filter = {
  operation: filterText.optional(),
  client: filterText.optional(),
  code: filterText.optional(),
  since: moment.optional(),
  until: moment.optional(),
  mailing: z.guid('must be the id of a mailing').optional(),
};
export const deadLettersQuery = z.strictObject({ ...filter, ...pageQuery });
/** So many at most in one call, so that it ends in seconds. Whoever has more calls again. */
const maxRetries = 1_000;
export const retryBody = z.strictObject({
  filter: z.strictObject(filter),
  dryRun: z.boolean().default(false),
  limit: z.int().min(1).max(maxRetries).default(maxRetries),
});
export const discarding = z.strictObject({ reason: requiredText });
const position = z
  .string()
  .regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z [0-9a-f-]{36}$/)
  .transform((text) => ({ at: text.slice(0, 27), id: text.slice(28) }))
  .pipe(z.object({ at: z.iso.datetime(), id: z.guid() }));
/** A dry run shows so many one by one, and all of them in numbers. */
const shownOfDryRun = 100;

/** What gave up: operations, and mails of mailings. */
export function deadLetterRoutes(parts: ApiParts): Hono<ApiEnv> {
  const findOne = async (c: ApiContext) => (await findDeadLetter(parts.db, readId(c))) ?? notFound();
  const actorOf = (c: ApiContext) => adminActorOf(c.get('caller'));

  return new Hono<ApiEnv>()
    .get('/', async (c) => {
      const { limit, cursor, ...wanted } = validate(deadLettersQuery, c.req.query());
      const after = decodeCursor(cursor, position);
      const rows = await listDeadLetters(parts.db, wanted, { limit: limit + 1, after });
      const shown = rows.slice(0, limit);
      const last = rows.length > limit ? shown.at(-1) : undefined;
      return jsonResponse(c, {
        items: shown.map(deadLetterView),
        nextCursor: last ? encodeCursor(last.position) : null,
      });
    })
    .post('/retry', async (c) => {
      const { filter: wanted, dryRun, limit } = validate(retryBody, parseJson(await readJsonText(c)));
      if (dryRun) return jsonResponse(c, await describeRetry(parts, wanted));
      const result = await retryMatching(parts.repairs, wanted, { actor: actorOf(c), limit });
      return jsonResponse(c, { dryRun, ...result }, 202);
    })
    .get('/:id', async (c) => jsonResponse(c, deadLetterView(await findOne(c))))
    .post('/:id/retry', async (c) => {
      const letter = await findOne(c);
      const result = await retryDeadLetter(parts.repairs, letter, actorOf(c));
      if (result.kind === 'refused') {
        const extra = { currentStatus: letter.status, effect: letter.effect };
        throw new AppError('INVALID_STATE', result.why, { extra });
      }
      return jsonResponse(c, { id: letter.id, ...deadLetterSubject(letter), retried: true }, 202);
    })
    .delete('/:id', async (c) => {
      const given = hasBody(c) ? parseJson(await readJsonText(c)) : c.req.query();
      const { reason } = validate(discarding, given);
      if (!(await discardDeadLetter(parts.repairs, readId(c), { actor: actorOf(c), reason }))) notFound();
      return new Response(null, { status: 204, headers: { 'x-request-id': c.get('requestId') } });
    });
}

/** What a retry would run, and what became of the effects of all that match. */
async function describeRetry({ db }: ApiParts, wanted: DeadLetterFilter): Promise<z.infer<typeof dryRunSchema>> {
  const [summary, rows] = await Promise.all([
    summarizeDeadLetters(db, wanted),
    listDeadLetters(db, wanted, { limit: shownOfDryRun, after: undefined }),
  ]);
  const countEffect = (effect: string) => countOf(summary, (kind) => kind.effect === effect);
  return {
    dryRun: true,
    matching: countOf(summary, () => true),
    wouldRun: countOf(summary, (kind) => kind.retryable),
    effects: {
      applied: countEffect('applied'),
      not_applied: countEffect('not_applied'),
      unknown: countEffect('unknown'),
    },
    byOperation: summary.map(({ operation, effect, retryable, count }) => {
      return { operation, effect, wouldRun: retryable, count };
    }),
    items: rows.map(deadLetterView),
  };
}

function notFound(): never {
  throw new AppError('NOT_FOUND', 'There is no such dead letter.');
}
