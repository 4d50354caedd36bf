import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import type { System } from '../systems.ts';
import { mailTexts } from './mail-texts.ts';

export interface MailingRow {
  readonly status: string;
  readonly lines: number;
  readonly duplicates: number;
  readonly entries: number;
  readonly sent: number;
  /** From the start of the job that reads the file to its end. */
  readonly ingestMs: number | null;
  /** From then to the last mail. */
  readonly sendMs: number | null;
}

// Short against the seconds that are measured, long enough not to disturb them.
const pollMs = 100;
// Ten times what a million rows take: more than that means that it is stuck.
const mailingTimeoutMs = 300_000;

/** Uploads a file like any client does. Resolves with the mailing's id. */
export async function uploadFile(
  semel: System,
  file: { name: string; content: Blob; ratePerSecond?: number },
): Promise<string> {
  const form = new FormData();
  form.set('subject', mailTexts.subject);
  form.set('text', mailTexts.text);
  if (file.ratePerSecond !== undefined) form.set('ratePerSecond', String(file.ratePerSecond));
  form.set('file', file.content, file.name);
  const body = await post(semel, '/v1/mailings', form);
  if (typeof body === 'object' && body !== null && 'mailingId' in body) return String(body.mailingId);
  throw new Error(`Semel took no file: ${JSON.stringify(body)}`);
}

export async function cancelMailing(semel: System, id: string): Promise<void> {
  await post(semel, `/v1/mailings/${id}/cancel`);
}

async function post(semel: System, path: string, form?: FormData): Promise<unknown> {
  const answer = await fetch(`http://127.0.0.1:${semel.port}${path}`, {
    method: 'POST',
    headers: semel.headers,
    body: form ?? null,
  });
  const body: unknown = await answer.json();
  if (!answer.ok) throw new Error(`Semel answered ${answer.status} to ${path}: ${JSON.stringify(body)}`);
  return body;
}

/** Waits for the moment at which what is measured is over. */
export async function waitForMailing(
  client: Client,
  id: string,
  isOver: (row: MailingRow) => boolean,
): Promise<MailingRow> {
  for (const deadlineMs = performance.now() + mailingTimeoutMs; performance.now() < deadlineMs; await sleep(pollMs)) {
    const row = await readRow(client, id);
    if (isOver(row)) return row;
    if (['FAILED', 'CANCELLED', 'PAUSED'].includes(row.status)) throw new Error(`The mailing is ${row.status}.`);
  }
  throw new Error('The mailing never came to its end.');
}

async function readRow(client: Client, id: string): Promise<MailingRow> {
  const { rows } = await client.query<MailingRow>(
    `select status, lines, duplicates, lines - duplicates as entries,
       (select coalesce(sum(sent), 0)::int4 from mailing_batches where mailing_id = m.id) as sent,
       (extract(epoch from ingested_at - started_at) * 1000)::float8 as "ingestMs",
       (extract(epoch from completed_at - ingested_at) * 1000)::float8 as "sendMs"
     from mailings m where id = $1`,
    [id],
  );
  const [row] = rows;
  if (row === undefined) throw new Error('There is no such mailing.');
  return row;
}

/** Makes the rounds alike: no mailing, no job that is due, and nothing that Postgres has still to write. */
export async function removeMailings(client: Client): Promise<void> {
  // Those of a cancelled mailing are let go one by one. Whoever does that locks a batch before its mailing.
  const inHand = 'select from mailing_batches where sending > 0 or is_queued limit 1';
  while ((await client.query(inHand)).rows.length > 0) await sleep(pollMs);
  await client.query('truncate mailings, mailing_entries cascade');
  await client.query(`delete from outbox where queue = 'mailings'`);
  await client.query('checkpoint');
}
