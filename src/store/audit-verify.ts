import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import { type ChainHead, type ChainRow, findEndFault, findNoRowsFault, findRowFault } from './audit-chain.ts';
import type { Database } from './database.ts';

export interface AuditFault {
  recordId: string;
  /** Undefined if the record has no row at all. */
  seq: number | undefined;
  problem: string;
}

export interface AuditReport {
  chains: number;
  rows: number;
  /** How many rows are broken, counting a record without any as one. */
  faults: number;
  first: AuditFault | undefined;
  /** Trails that end because somebody deleted the record before its time was over. */
  deleted: number;
  /** Covers the last row, up to `sealedUntil`, of every chain that was walked. */
  seal: string;
}

export interface VerifyOptions {
  recordId?: string;
  /** Only records made since then. */
  since?: Date;
  /** Rows after this instant are checked but not sealed. */
  sealedUntil?: Date;
  onFault?: (fault: AuditFault) => void;
  onProgress?: (progress: { chains: number; rows: number }) => void;
  /** How many rows are held at once. */
  pageSize?: number;
}

interface PageRow extends ChainRow {
  transitions: number | null;
  status: string | null;
  head: string | null;
  trimmedUntil: Date | null;
}

const firstId = '00000000-0000-0000-0000-000000000000';

/**
 * Walks every chain and recomputes it, in the order of records, a page at a time. Each page is one statement, which sees
 * rows and records as of one moment, so it can run while work goes on and holds nothing up.
 */
export async function verifyAudit(db: Database, options: VerifyOptions = {}): Promise<AuditReport> {
  const report: AuditReport = { chains: 0, rows: 0, faults: 0, first: undefined, deleted: 0, seal: '' };
  const addFault = (recordId: string, seq: number | undefined, problem: string | undefined): void => {
    if (problem === undefined) return;
    const fault = { recordId, seq, problem };
    report.faults += 1;
    report.first ??= fault;
    options.onFault?.(fault);
  };
  const seal = createSeal(options.sealedUntil);
  let last: PageRow | undefined;
  let isLastBroken = false;
  const endChain = (): void => {
    if (!last) return;
    // A row that is broken already is not counted twice.
    if (!isLastBroken) addFault(last.recordId, last.seq, findEndFault(last, headOf(last)));
    if (last.to === 'DELETED') report.deleted += 1;
  };
  for await (const page of readPages(db, options)) {
    for (const row of page) {
      const isSameChain = last?.recordId === row.recordId;
      if (!isSameChain) {
        endChain();
        report.chains += 1;
      }
      const problem = findRowFault(isSameChain ? last : undefined, row, row.trimmedUntil ?? undefined);
      addFault(row.recordId, row.seq, problem);
      isLastBroken = problem !== undefined;
      seal.add(row);
      last = row;
      report.rows += 1;
    }
    options.onProgress?.(report);
  }
  endChain();
  for await (const record of readRecordsWithoutRows(db, options)) {
    addFault(record.id, undefined, findNoRowsFault(record.id, record.updatedAt, record.trimmedUntil));
  }
  return { ...report, seal: seal.digest() };
}

/** For transactions of other users, whose begin Postgres may not tell us. None of Semel's takes nearly that long. */
const sealMarginMs = 60_000;

/** The last instant of which no row can appear any more: everything that began before it has ended. */
export async function findSealableInstant(db: Database, marginMs = sealMarginMs): Promise<Date> {
  const { rows } = await sql<{ at: Date }>`
    select date_trunc('milliseconds', least(now() - make_interval(secs => ${marginMs / 1000}),
      min(xact_start) - interval '1 millisecond')) as at
    from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`.execute(db);
  const [row] = rows;
  if (!row) throw new Error('Postgres did not tell the time');
  return row.at;
}

/** Whether old months were dropped after an instant: a seal of that time covers rows that are no longer there. */
export async function wasTrimmedSince(db: Database, instant: Date): Promise<boolean> {
  const trims = db.selectFrom('audit_trims').select('until').where('trimmed_at', '>', instant).limit(1);
  return (await trims.execute()).length > 0;
}

function headOf(row: PageRow): ChainHead | undefined {
  if (row.transitions === null || row.status === null) return undefined;
  return { transitions: row.transitions, status: row.status, hash: row.head };
}

/** A digest over the ends of all chains as they were at one instant. */
function createSeal(until: Date | undefined): { add: (row: ChainRow) => void; digest: () => string } {
  const hash = createHash('sha256');
  let end: ChainRow | undefined;
  const flush = () => end && hash.update(`${end.recordId} ${end.seq} ${end.hash}\n`);
  return {
    add: (row) => {
      if (until && Date.parse(row.at) > until.getTime()) return;
      if (end?.recordId !== row.recordId) flush();
      end = row;
    },
    digest: () => {
      flush();
      return hash.digest('hex');
    },
  };
}

async function* readPages(db: Database, options: VerifyOptions): AsyncGenerator<PageRow[]> {
  const { recordId, pageSize = 5_000 } = options;
  const only = recordId === undefined ? sql`` : sql`and record_id = ${recordId}`;
  let [id, seq, at] = [startOf(options), 0, '-infinity'];
  for (;;) {
    const { rows } = await sql<PageRow>`
      select a.record_id as "recordId", a.seq, to_char(a.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at,
        a.from_status as from, a.to_status as to, a.actor, a.epoch, a.detail::text,
        encode(a.prev_hash, 'hex') as "prevHash", encode(a.hash, 'hex') as hash,
        r.transitions, r.status, encode(r.audit_hash, 'hex') as head,
        (select max(until) from audit_trims) as "trimmedUntil"
      from (
        select * from audit where (record_id, seq, at) > (${id}::uuid, ${seq}::integer, ${at}::timestamptz) ${only}
        order by record_id, seq, at limit ${pageSize}) a
      left join records r on r.id = a.record_id
      order by a.record_id, a.seq, a.at`.execute(db);
    if (rows.length > 0) yield rows;
    const last = rows.at(-1);
    if (!last || rows.length < pageSize) return;
    [id, seq, at] = [last.recordId, last.seq, last.at];
  }
}

interface RecordWithoutRows {
  id: string;
  updatedAt: Date;
  trimmedUntil: Date | null;
}

async function* readRecordsWithoutRows(db: Database, options: VerifyOptions): AsyncGenerator<RecordWithoutRows> {
  const { recordId, pageSize = 5_000 } = options;
  const only = recordId === undefined ? sql`` : sql`and id = ${recordId}`;
  let after = startOf(options);
  for (;;) {
    const { rows } = await sql<RecordWithoutRows & { traced: boolean }>`
      select r.id, r.updated_at as "updatedAt", (select max(until) from audit_trims) as "trimmedUntil",
        exists (select 1 from audit a where a.record_id = r.id) as traced
      from (select id, updated_at from records where id > ${after}::uuid ${only} order by id limit ${pageSize}) r
      order by r.id`.execute(db);
    yield* rows.filter(({ traced }) => !traced);
    const last = rows.at(-1);
    if (!last || rows.length < pageSize) return;
    after = last.id;
  }
}

/** Ids of records are in the order of time, so that those made since an instant are the ones after such an id. */
function startOf({ since }: VerifyOptions): string {
  if (!since) return firstId;
  const hex = since.getTime().toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
}
