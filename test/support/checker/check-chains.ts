import { createHash } from 'node:crypto';
import type pg from 'pg';
import { tell } from './evidence.ts';

interface Row {
  record_id: string;
  seq: number;
  at: string;
  from_status: string | null;
  to_status: string;
  actor: string;
  epoch: number;
  detail: string | null;
  prev_hash: string | null;
  hash: string;
}

/**
 * The hash of each row covers its fields and the hash of the row before it, up to the head that the record keeps. Worked out
 * here from the description in docs/guarantees.md and with nothing of the service, whose own verifier may be wrong.
 */
export async function checkChains(db: pg.Pool): Promise<string[]> {
  const [{ rows }, { rows: records }] = await Promise.all([
    db.query<Row>(`
      select record_id, seq::int, to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at, from_status, to_status,
        actor, epoch::int, detail::text, encode(prev_hash, 'hex') as prev_hash, encode(hash, 'hex') as hash
      from audit order by record_id, seq`),
    db.query<{ id: string; head: string | null }>(`select id, encode(audit_hash, 'hex') as head from records`),
  ]);
  const heads = new Map<string, string>();
  const broken: string[] = [];
  for (const row of rows) {
    const nameOfRow = `${row.record_id} ${row.seq}`;
    if (row.prev_hash !== (heads.get(row.record_id) ?? null)) broken.push(`${nameOfRow}: another row before it`);
    if (row.hash !== hashOf(row)) broken.push(`${nameOfRow}: other fields`);
    heads.set(row.record_id, row.hash);
  }
  const cut = records.filter(({ id, head }) => head !== (heads.get(id) ?? null)).map(({ id }) => id);
  const known = new Set(records.map(({ id }) => id));
  const gone = [...heads.keys()].filter((id) => !known.has(id));
  return [
    ...tell('broken links in chains', broken),
    ...tell('chains that end elsewhere than their record says', cut),
    ...tell('trails of records that are gone', gone),
  ];
}

function hashOf({ prev_hash, record_id, seq, at, from_status, to_status, actor, epoch, detail }: Row): string {
  const fields = [prev_hash, record_id, seq, at, from_status, to_status, actor, epoch, detail];
  return createHash('sha256')
    .update(`[${fields.map((field) => JSON.stringify(field)).join(', ')}]`)
    .digest('hex');
}
