import { Hono } from 'hono';
import { z } from 'zod';
import { AppError } from '../../../errors.ts';
import { id, instant, text } from '../../../processors/fields.ts';
import {
  acknowledgeFault,
  type InvariantFaultRow,
  invariantNames,
  listFaults,
  readInvariants,
} from '../../../store/invariants.ts';
import { adminActorOf } from '../../admin-view.ts';
import type { ApiEnv, ApiParts } from '../../api-env.ts';
import { jsonResponse } from '../../json-response.ts';
import { decodeCursor, pageQuery, toPage } from '../../paging.ts';
import { readId } from '../../read-id.ts';
import { parseJson, readJsonText, validate } from '../../read-json.ts';

export const faultsQuery = z.strictObject(pageQuery);
export const acknowledgement = z.strictObject({ note: text(1_000).min(1) });

/** What must never be: whether it is, what was found, and that somebody has seen it. */
export function invariantRoutes({ db }: Pick<ApiParts, 'db'>): Hono<ApiEnv> {
  return new Hono<ApiEnv>()
    .get('/', async (c) => {
      const items: z.infer<typeof invariantSchema>[] = (await readInvariants(db)).map((row) => ({
        invariant: row.name,
        violations: row.violations,
        checkedAt: row.checkedAt?.toISOString() ?? null,
      }));
      return jsonResponse(c, { items, nextCursor: null });
    })
    .get('/faults', async (c) => {
      const { limit, cursor } = validate(faultsQuery, c.req.query());
      const rows = await listFaults(db, { limit: limit + 1, after: decodeCursor(cursor, z.uuid()) });
      return jsonResponse(c, toPage(rows, limit, faultView));
    })
    .post('/faults/:id/acknowledge', async (c) => {
      const { note } = validate(acknowledgement, parseJson(await readJsonText(c)));
      const fault = await acknowledgeFault(db, { id: readId(c), by: adminActorOf(c.get('caller')), note });
      if (!fault) throw new AppError('NOT_FOUND', 'There is no such fault, or it was mended.');
      return jsonResponse(c, faultView(fault));
    });
}

export const invariantSchema = z
  .strictObject({ invariant: z.enum(invariantNames), violations: z.int(), checkedAt: instant.nullable() })
  .meta({ id: 'Invariant' });

export const faultSchema = z
  .strictObject({
    id,
    invariant: z.enum(invariantNames),
    subject: z.string(),
    detail: z.record(z.string(), z.unknown()),
    foundAt: instant,
    acknowledgedAt: instant.nullable(),
    acknowledgedBy: z.string().nullable(),
    note: z.string().nullable(),
  })
  .meta({ id: 'InvariantFault' });

function faultView(row: InvariantFaultRow): z.infer<typeof faultSchema> {
  const { id, invariant, subject, detail, note, acknowledged_by: acknowledgedBy } = row;
  const acknowledgedAt = row.acknowledged_at?.toISOString() ?? null;
  return { id, invariant, subject, detail, foundAt: row.found_at.toISOString(), acknowledgedAt, acknowledgedBy, note };
}
