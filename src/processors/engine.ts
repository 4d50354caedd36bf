import type { Logger } from 'pino';
import type { HitFailpoint } from '../failpoints.ts';
import { type Database, isDatabaseUnavailable, isTransient } from '../store/database.ts';
import { GroupedCalls } from '../store/grouped-calls.ts';
import type { Locks } from '../store/locks.ts';
import { fenceLostCode, findRecords, type RecordRow } from '../store/records.ts';
import type { Results } from '../store/results.ts';
import type { Registry } from './registry.ts';

export interface EngineParts {
  db: Database;
  locks: Locks;
  results: Results;
  registry: Registry;
  log: Logger;
  hitFailpoint: HitFailpoint;
  /** Who writes the audit rows. */
  actor: string;
  retryDelaysMs: readonly number[];
  /** How long a job may hold its lock, and a transaction may be idle. */
  lockDurationMs: number;
  recordTtlSeconds: number;
}

/** What run-operation works with: the parts, and the calls that jobs running side by side share. */
export interface Engine extends EngineParts {
  lookUpRecord: (id: string) => Promise<RecordRow | undefined>;
  /** Settles a record of a group operation together with its neighbours. Undefined if it was settled before. */
  settleInGroup: (operation: string, id: string) => Promise<RecordRow | undefined>;
}

/** Large enough that a full worker is two or three groups, small enough that a group holds its locks for milliseconds. */
const maxGroupSize = 64;

export function createEngine(parts: EngineParts): Engine {
  const lookUps = new GroupedCalls<string, RecordRow | undefined>({
    run: async (ids) => inOrderOf(ids, await findRecords(parts.db, ids)),
    maxGroupSize,
    concurrency: 1,
  });
  const groups = new Map([...parts.registry.keys()].map((name) => [name, createSettler(parts, name)]));
  return {
    ...parts,
    lookUpRecord: (id) => lookUps.call(id),
    settleInGroup: async (operation, id) => await groups.get(operation)?.call(id),
  };
}

function createSettler(parts: EngineParts, name: string): GroupedCalls<string, RecordRow | undefined> {
  return new GroupedCalls({
    run: async (ids) => {
      const operation = parts.registry.get(name);
      if (!operation || !('processGroup' in operation)) throw new Error(`${name} is not a group operation`);
      const ttlSeconds = operation.recordTtlSeconds ?? parts.recordTtlSeconds;
      return inOrderOf(ids, await operation.processGroup(parts.db, { ids, actor: parts.actor, ttlSeconds }));
    },
    maxGroupSize,
    // Two: while one group commits, the next one is already at work.
    concurrency: 2,
    mayBlameOneItem: (error) => !isDatabaseUnavailable(error),
  });
}

function inOrderOf(ids: readonly string[], records: readonly RecordRow[]): (RecordRow | undefined)[] {
  const byId = new Map(records.map((record) => [record.id, record]));
  return ids.map((id) => byId.get(id));
}

/** An error that says nothing about the operation: try again soon, and count no attempt. */
export function isNobodysFault(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return code === fenceLostCode || isTransient(error);
}
