import { Hono } from 'hono';
import { z } from 'zod';
import { instant } from '../../../processors/fields.ts';
import { countRecords, stuckAfterMs } from '../../../store/describe-stores.ts';
import { countStuckRecords } from '../../../store/housekeeping/expired-records.ts';
import { countedHours, type RequestTotals, sumRequestCounts } from '../../../store/request-counts.ts';
import { findOldestUnfinished } from '../../../store/stuck-records.ts';
import type { ApiEnv, ApiParts } from '../../api-env.ts';
import { jsonResponse } from '../../json-response.ts';
import { wholeNumber } from '../../paging.ts';
import { validate } from '../../read-json.ts';

export const statsQuery = z.strictObject({ hours: wholeNumber(1, countedHours, 24) });
const healthQuery = z.strictObject({});

const count = z.int().min(0);
export const idempotencyHealthSchema = z
  .strictObject({
    status: z.enum(['ok', 'degraded']),
    reasons: z.array(z.string()).describe('Why somebody should look.'),
    totalRecords: count,
    queued: count,
    processing: count,
    succeeded: count,
    rejected: count,
    failed: count,
    unknown: count,
    stuck: count,
    oldestUnfinishedAt: instant.nullable(),
    cacheHitRate: z.number().nullable().describe('Of the answers asked for again in the last day; null without any.'),
  })
  .meta({ id: 'IdempotencyHealth' });

export const duplicateStatsSchema = z
  .strictObject({
    hours: z.int(),
    totalRequests: count,
    duplicateRequests: count,
    duplicateRate: z.number(),
    byOperation: z.array(
      z.strictObject({ operation: z.string(), requests: count, duplicates: count, mismatches: count }),
    ),
  })
  .meta({ id: 'DuplicateStatistics' });

/** The cache is judged by the last day. */
const cacheHours = 24;

/** How it goes as a whole. */
export function idempotencyRoutes(parts: ApiParts): Hono<ApiEnv> {
  const sumCounts = async (hours: number) => {
    await parts.requestCounter.flush();
    return await sumRequestCounts(parts.db, hours);
  };

  return new Hono<ApiEnv>()
    .get('/health', async (c) => {
      validate(healthQuery, c.req.query());
      const [records, stuck, oldest, counts] = await Promise.all([
        countRecords(parts.db),
        countStuckRecords(parts.db, stuckAfterMs),
        findOldestUnfinished(parts.db),
        sumCounts(cacheHours),
      ]);
      const reasons = [
        ...(stuck > 0 ? [`${stuck} are stuck: unfinished, and untouched for ${stuckAfterMs / 60_000} minutes`] : []),
        ...(records.UNKNOWN > 0 ? [`${records.UNKNOWN} are UNKNOWN: a person has to say what became of them`] : []),
      ];
      const health: z.infer<typeof idempotencyHealthSchema> = {
        status: reasons.length === 0 ? 'ok' : 'degraded',
        reasons,
        totalRecords: Object.values(records).reduce((sum, count) => sum + count, 0),
        queued: records.QUEUED,
        processing: records.PROCESSING,
        succeeded: records.SUCCEEDED,
        rejected: records.REJECTED,
        failed: records.FAILED,
        unknown: records.UNKNOWN,
        stuck,
        oldestUnfinishedAt: oldest?.toISOString() ?? null,
        cacheHitRate: cacheHitRateOf(counts),
      };
      return jsonResponse(c, health);
    })
    .get('/stats/duplicates', async (c) => {
      const { hours } = validate(statsQuery, c.req.query());
      const counts = await sumCounts(hours);
      const totalRequests = sumOf(counts, 'requests');
      const duplicateRequests = sumOf(counts, 'duplicates');
      const stats: z.infer<typeof duplicateStatsSchema> = {
        hours,
        totalRequests,
        duplicateRequests,
        duplicateRate: totalRequests === 0 ? 0 : duplicateRequests / totalRequests,
        byOperation: counts.map(({ operation, requests, duplicates, mismatches }) => {
          return { operation, requests, duplicates, mismatches };
        }),
      };
      return jsonResponse(c, stats);
    });
}

/** Of the answers that are kept for good and were asked for again, the share that Postgres was not asked for. */
function cacheHitRateOf(counts: readonly RequestTotals[]): number | null {
  const hits = sumOf(counts, 'cache_hits');
  const asked = hits + sumOf(counts, 'cache_misses');
  return asked === 0 ? null : hits / asked;
}

function sumOf(counts: readonly RequestTotals[], name: keyof RequestTotals): number {
  return counts.reduce((sum, totals) => sum + totals[name], 0);
}
