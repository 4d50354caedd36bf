import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isAlive, startTimeOf, waitUntilGone } from '../embedded/process-identity.ts';
import { StartError } from './start-error.ts';

interface ProcessIdentity {
  readonly pid: number;
  readonly startTime: string;
}

interface RunningRecord extends ProcessIdentity {
  readonly startedAt: string;
  readonly url?: string;
  readonly service?: ProcessIdentity;
}

export interface RunningLock {
  /** Adds what became known meanwhile, for a second start that asks and for a start after a crash. */
  note(known: { url?: string; servicePid?: number }): void;
  release(): void;
}

/** Only one start may use a data folder at a time. A record left by a killed one is taken over. */
export async function acquireRunningLock(dataDir: string): Promise<RunningLock> {
  const file = join(dataDir, 'running.json');
  let record: RunningRecord = { ...identify(process.pid), startedAt: new Date().toISOString() };
  while (!tryCreate(file, record)) {
    const holder = readRecord(file);
    if (holder !== undefined && isSame(holder)) {
      const where = holder.url === undefined ? 'and is still starting' : `at ${holder.url}`;
      throw new StartError(`Semel is already running ${where} (process ${holder.pid}, data in ${dataDir}).`);
    }
    if (holder?.service !== undefined && isSame(holder.service)) await endLeftService(holder.service);
    takeAway(file, holder);
  }
  return {
    note: ({ url, servicePid }) => {
      record = { ...record, ...(url ? { url } : {}), ...(servicePid ? { service: identify(servicePid) } : {}) };
      const draft = `${file}.${process.pid}`;
      writeFileSync(draft, JSON.stringify(record), { mode: 0o600 });
      renameSync(draft, file);
    },
    release: () => {
      if (readRecord(file)?.pid === process.pid) rmSync(file, { force: true });
    },
  };
}

/** link() refuses if the name exists, and shows the record only when it is complete. */
function tryCreate(file: string, record: RunningRecord): boolean {
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, JSON.stringify(record), { mode: 0o600 });
  try {
    linkSync(draft, file);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Moved away before it is deleted: if another start was faster, what we hold is its record, and goes back. */
function takeAway(file: string, stale: RunningRecord | undefined): void {
  const aside = `${file}.${process.pid}.stale`;
  try {
    renameSync(file, aside);
  } catch {
    // Another start has taken it away already; creating ours decides.
    return;
  }
  const taken = readRecord(aside);
  if (taken !== undefined && (taken.pid !== stale?.pid || taken.startTime !== stale.startTime)) linkSync(aside, file);
  rmSync(aside, { force: true });
}

/** The service of a killed start ends by itself; a new one beside it would meet its port and its data. */
async function endLeftService({ pid }: ProcessIdentity): Promise<void> {
  console.log('Waiting for the service of the last start to finish …');
  // Its own limit for finishing work is 25 seconds.
  if (await waitUntilGone(pid, 30_000)) return;
  process.kill(pid, 'SIGKILL');
  await waitUntilGone(pid, 5_000);
}

function identify(pid: number): ProcessIdentity {
  return { pid, startTime: startTimeOf(pid) ?? '' };
}

function isSame({ pid, startTime }: ProcessIdentity): boolean {
  return isAlive(pid) && startTimeOf(pid) === startTime;
}

function readRecord(file: string): RunningRecord | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    // Gone meanwhile, or cut short by a full disk: no living start wrote it.
    return undefined;
  }
}
