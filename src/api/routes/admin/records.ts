import { Hono } from 'hono';
import { z } from 'zod';
import { AppError } from '../../../errors.ts';
import { type Repair, type RepairResult, resetRecord, resolveRecord } from '../../../queues/repair-record.ts';
import { listAudit } from '../../../store/audit.ts';
import { findRecords, type RecordRow } from '../../../store/records.ts';
import { listStuck, listUnknown } from '../../../store/stuck-records.ts';
import { adminActorOf, adminRecordView } from '../../admin-view.ts';
import type { ApiContext, ApiEnv, ApiParts } from '../../api-env.ts';
import { auditTrailView } from '../../audit-view.ts';
import { jsonResponse } from '../../json-response.ts';
import { effectOf } from '../../operation-view.ts';
import { decodeCursor, pageQuery, toPage, wholeNumber } from '../../paging.ts';
import { readId } from '../../read-id.ts';
import { hasBody, parseJson, readJsonText, validate } from '../../read-json.ts';
import { optionalText } from './texts.ts';

/** A year: what is stuck for longer is in there too. */
const maxMinutes = 525_600;
export const stuckQuery = z.strictObject({ minutes: wholeNumber(0, maxMinutes, 30), ...pageQuery });
export const recordsQuery = z.strictObject(pageQuery);
export const resetBody = z.strictObject({ note: optionalText });
export const resolution = z.strictObject({ outcome: z.enum(['applied', 'not_applied']), note: optionalText });

/** Single records, whoever they belong to, and what can be done about them. */
export function recordRoutes(parts: ApiParts): Hono<ApiEnv> {
  const repairOf = (c: ApiContext, note: string | undefined): Repair => {
    return { id: readId(c), actor: adminActorOf(c.get('caller')), note };
  };

  return new Hono<ApiEnv>()
    .get('/stuck', async (c) => {
      const { minutes, limit, cursor } = validate(stuckQuery, c.req.query());
      const after = decodeCursor(cursor, z.uuid());
      const rows = await listStuck(parts.db, minutes, { limit: limit + 1, after });
      return jsonResponse(c, toPage(rows, limit, adminRecordView));
    })
    .get('/unknown', async (c) => {
      const { limit, cursor } = validate(recordsQuery, c.req.query());
      const rows = await listUnknown(parts.db, { limit: limit + 1, after: decodeCursor(cursor, z.uuid()) });
      return jsonResponse(c, toPage(rows, limit, adminRecordView));
    })
    .get('/:id', async (c) => {
      const [record = notFound()] = await findRecords(parts.db, [readId(c)]);
      const audit = auditTrailView(await listAudit(parts.db, record.id), { isOperator: true });
      return jsonResponse(c, { ...adminRecordView(record), audit });
    })
    .post('/:id/reset', async (c) => {
      const { note } = validate(resetBody, hasBody(c) ? parseJson(await readJsonText(c)) : {});
      const record = recordOf(await resetRecord(parts.repairs, repairOf(c, note)));
      return jsonResponse(c, adminRecordView(record), 202);
    })
    .post('/:id/resolve', async (c) => {
      const { outcome, note } = validate(resolution, parseJson(await readJsonText(c)));
      const record = recordOf(await resolveRecord(parts.repairs, { ...repairOf(c, note), outcome }));
      return jsonResponse(c, adminRecordView(record));
    });
}

function recordOf(result: RepairResult): RecordRow {
  if (result.kind === 'done') return result.record;
  if (result.kind === 'missing') return notFound();
  if (result.kind === 'busy') {
    throw new AppError('OPERATION_IN_PROGRESS', 'A worker is at work on it right now. Try again in some seconds.', {
      extra: { effect: 'unknown' },
      headers: { 'retry-after': '5' },
    });
  }
  const { record, why } = result;
  const extra = { operationId: record.id, currentStatus: record.status, effect: effectOf(record.status) };
  throw new AppError('INVALID_STATE', why, { extra });
}

function notFound(): never {
  throw new AppError('NOT_FOUND', 'There is no such record.');
}
