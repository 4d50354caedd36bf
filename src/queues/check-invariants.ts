import type { Logger } from 'pino';
import type { Database } from '../store/database.ts';
import { beginRounds, checkLedger, checkSends, countFaults, endRound, type Round } from '../store/invariants.ts';
import { listJobsInOutbox } from '../store/outbox.ts';
import { listUnsettled } from '../store/record-queries.ts';
import type { RedisClient } from '../store/redis.ts';
import { jobIdOf } from '../store/scoped-key.ts';
import { operationsQueue, type Queues } from './queues.ts';
import { isAlive } from './reconciler.ts';

export interface InvariantParts {
  db: Database;
  queues: Queues;
  redis: RedisClient;
  log: Logger;
}

/** At most this often, whoever asks and however many processes there are. */
export const invariantPauseMs = 15_000;
/** Three times what the reconciler needs: whatever is still without a job then will stay so. */
const untouchedMs = 30_000;
const pageSize = 1_000;
/** A long backlog is walked over several rounds, so that one round stays short. */
const pagesPerRound = 20;

/** Checks what is due to be checked. One that fails is tried again in the next round, and its age tells. */
export async function checkInvariants(parts: InvariantParts, pauseMs = invariantPauseMs): Promise<void> {
  const rounds = await beginRounds(parts.db, pauseMs);
  await Promise.all(
    rounds.map(async (round) => {
      try {
        await endRound(parts.db, round, await checks[round.name](parts, round.state));
      } catch (error) {
        parts.log.warn({ err: error, invariant: round.name }, 'an invariant could not be checked');
      }
    }),
  );
}

type Check = (parts: InvariantParts, state: Round['state']) => Promise<{ violations: number; state: Round['state'] }>;

const checks: Record<Round['name'], Check> = {
  ledger_imbalance: async ({ db }, before) => {
    const state = await checkLedger(db, before);
    return { violations: await countFaults(db, 'ledger_imbalance'), state };
  },
  entries_sent_twice: async ({ db }) => {
    await checkSends(db);
    return { violations: await countFaults(db, 'entries_sent_twice'), state: {} };
  },
  unfinished_without_job: checkUnfinished,
};

interface Walk {
  after?: string;
  /** Of the walk that is under way, and of the last one that came to the end. */
  found?: number;
  foundBefore?: number;
}

/** Goes on where the last round ended. What is known is what this walk has found, or the one before if that was more. */
async function checkUnfinished(parts: InvariantParts, before: Walk): ReturnType<Check> {
  let { after, found = 0, foundBefore = 0 } = before;
  for (let page = 0; page < pagesPerRound; page += 1) {
    const records = await listUnsettled(parts.db, { after, untouchedMs, limit: pageSize });
    found += await countWithoutJob(parts, records);
    after = records.length === pageSize ? records.at(-1)?.id : undefined;
    if (after === undefined) return { violations: found, state: { foundBefore: found } };
  }
  return { violations: Math.max(found, foundBefore), state: { after, found, foundBefore } };
}

type UnsettledRecord = Awaited<ReturnType<typeof listUnsettled>>[number];

async function countWithoutJob({ db, queues, redis }: InvariantParts, records: readonly UnsettledRecord[]) {
  if (records.length === 0) return 0;
  if (redis.status !== 'ready') throw new Error('Redis is away');
  const queue = queues.get(operationsQueue);
  const pipeline = redis.pipeline();
  for (const record of records) pipeline.hmget(queue.toKey(jobIdOf(record)), 'timestamp', 'finishedOn');
  const replies = (await pipeline.exec()) ?? [];
  // The reconciler puts nothing back on a guess, and here nobody is reassured by one.
  const failure = replies.find(([error]) => error)?.[0];
  if (failure) throw failure;
  const missing = records.filter((_, index) => !isAlive(replies[index])).map(jobIdOf);
  if (missing.length === 0) return 0;
  const inOutbox = new Set(await listJobsInOutbox(db, missing));
  return missing.filter((jobId) => !inOutbox.has(jobId)).length;
}
