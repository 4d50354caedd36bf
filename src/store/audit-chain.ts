import { createHash } from 'node:crypto';
import { trailEndings } from './audit.ts';

/** An audit row as it is hashed: every field as the text that Postgres gives of it. */
export interface ChainRow {
  recordId: string;
  seq: number;
  /** UTC with microseconds: 2026-11-18T08:31:19.551027Z */
  at: string;
  from: string | null;
  to: string;
  actor: string;
  epoch: number;
  detail: string | null;
  /** In hexadecimal. */
  prevHash: string | null;
  hash: string;
}

/** What the record says of its trail. */
export interface ChainHead {
  transitions: number;
  status: string;
  hash: string | null;
}

/** The same text that `hash_audit` makes in the database, made here again, so that neither has to be trusted. */
export function hashRow(row: ChainRow): string {
  const { prevHash, recordId, seq, at, from, to, actor, epoch, detail } = row;
  const fields = [prevHash, recordId, seq, at, from, to, actor, epoch, detail];
  return createHash('sha256')
    .update(`[${fields.map((field) => JSON.stringify(field)).join(', ')}]`)
    .digest('hex');
}

/** What is wrong with a row, seen from the one before it, or undefined. */
export function findRowFault(before: ChainRow | undefined, row: ChainRow, trimmedUntil?: Date): string | undefined {
  if (hashRow(row) !== row.hash) return 'its fields do not give its hash: it was changed';
  const expected = (before?.seq ?? 0) + 1;
  if (row.seq < expected) return `there are two rows with the number ${row.seq}: one was added`;
  if (row.seq > expected) {
    if (mayBeTrimmed(before, row, trimmedUntil)) return undefined;
    return `${nameRows(expected, row.seq - 1)} before it is missing`;
  }
  if (row.prevHash !== (before?.hash ?? null)) return 'it does not follow from the row before it';
  if (row.from !== (before?.to ?? null)) return `it begins with ${row.from}, and the row before it ended elsewhere`;
  if (before && isEnding(before.to)) return `it comes after the end of the trail (${before.to})`;
  return undefined;
}

/** What is wrong with the end of a chain, seen from its record, or undefined. */
export function findEndFault(last: ChainRow, head: ChainHead | undefined): string | undefined {
  if (!head) return isEnding(last.to) ? undefined : 'it is the last row, and the record is gone: the end is missing';
  if (isEnding(last.to)) return `it says ${last.to}, and the record is still there`;
  if (head.transitions > last.seq) return `${nameRows(last.seq + 1, head.transitions)} after it is missing`;
  if (head.transitions < last.seq) return `the record ends with row ${head.transitions}: it was added`;
  if (head.hash !== last.hash) return 'its hash is not the one that the record keeps of its last row';
  if (head.status !== last.to) return `it says ${last.to}, and the record is ${head.status}`;
  return undefined;
}

/** What is wrong with a record that has no rows, or undefined. */
export function findNoRowsFault(recordId: string, updatedAt: Date, trimmedUntil: Date | null): string | undefined {
  if (trimmedUntil && updatedAt < trimmedUntil && isMadeBefore(recordId, trimmedUntil)) return undefined;
  return 'all rows of the record are missing';
}

/** A transaction's time is that of its begin, so a row can be a little older than the one before it. */
const disorderMs = 60_000;

/** Whether the rows missing before `row` can have gone with the months that were dropped. */
function mayBeTrimmed(before: ChainRow | undefined, row: ChainRow, trimmedUntil: Date | undefined): boolean {
  if (!trimmedUntil) return false;
  if (before) return Date.parse(before.at) < trimmedUntil.getTime() + disorderMs;
  return isMadeBefore(row.recordId, trimmedUntil);
}

/** An id of version 7 begins with the time when it was made, in milliseconds. Of others nothing is known. */
function isMadeBefore(recordId: string, instant: Date): boolean {
  if (recordId.charAt(14) !== '7') return true;
  const madeAtMs = Number.parseInt(recordId.slice(0, 8) + recordId.slice(9, 13), 16);
  return madeAtMs < instant.getTime() + disorderMs;
}

function isEnding(status: string): boolean {
  return trailEndings.some((ending) => ending === status);
}

function nameRows(first: number, last: number): string {
  return first === last ? `row ${first}` : `each of the rows ${first} to ${last}`;
}
