import { setTimeout as pause } from 'node:timers/promises';
import { ask, type Evidence, type Question, tell } from './evidence.ts';

/** T in the database: what has not come to its end. */
const questions: readonly Question[] = [
  {
    violation: 'records that have not ended',
    sql: `select id, operation, status from records where settled_at is null`,
  },
  {
    violation: 'mailings that have not ended',
    sql: `select id, status from mailings where status not in ('COMPLETED', 'FAILED', 'CANCELLED')`,
  },
  {
    violation: 'entries of completed mailings that have not ended',
    sql: `select e.mailing_id, e.line, e.status from mailing_entries e join mailings m on m.id = e.mailing_id
      where m.status = 'COMPLETED' and e.status in ('PENDING', 'SENDING')`,
  },
  {
    violation: 'events that did not become a delivery',
    sql: `select e.id from events e join webhooks w on w.client = e.client and e.type = any (w.events)
        and w.disabled_at is null and e.created_at > w.created_at
      left join webhook_deliveries d on d.webhook_id = w.id and d.event_id = e.id where d.id is null`,
  },
  {
    violation: 'deliveries that have not arrived',
    sql: `select id, status, last_error from webhook_deliveries where status <> 'DELIVERED'`,
  },
];

const pollPauseMs = 100;

/** Waits until all has ended, and returns what has not when the time is up. */
export async function checkEndings(evidence: Evidence, patienceMs: number): Promise<string[]> {
  const deadlineMs = Date.now() + patienceMs;
  for (;;) {
    const open = await listOpen(evidence);
    if (open.length === 0 || Date.now() >= deadlineMs) return open;
    await pause(pollPauseMs);
  }
}

async function listOpen(evidence: Evidence): Promise<string[]> {
  const { journal } = evidence;
  const [database, outbox, acknowledged, arrived] = await Promise.all([
    ask(evidence.db, questions),
    checkOutbox(evidence),
    checkAcknowledged(evidence),
    checkArrived(evidence),
  ]);
  return [...database, ...outbox, ...acknowledged, ...arrived, ...tell('calls without an answer', journal.unanswered)];
}

/** Nothing waits to be enqueued, and nothing was set aside but what was meant to be. */
async function checkOutbox({ db, poison }: Evidence): Promise<string[]> {
  const { rows } = await db.query<{ id: string; queue: string; last_error: string | null }>(
    'select id, queue, last_error from outbox',
  );
  const left = rows.filter((row) => !poison.has(row.id)).map((row) => JSON.stringify(row));
  return tell('outbox rows that are left', left);
}

async function checkAcknowledged({ db, journal }: Evidence): Promise<string[]> {
  const { rows } = await db.query<{ id: string }>('select id from records where settled_at is not null');
  const settled = new Set(rows.map((row) => row.id));
  const { rows: uploads } = await db.query<{ id: string }>('select id from mailings');
  const kept = new Set(uploads.map((row) => row.id));
  return [
    ...tell(
      'acknowledged operations without an end',
      [...journal.acknowledged].filter(([id]) => !settled.has(id)).map(([id, operation]) => `${operation} ${id}`),
    ),
    ...tell(
      'acknowledged uploads that are gone',
      [...journal.mailings].filter((id) => !kept.has(id)),
    ),
  ];
}

/** The receiver of webhooks has seen what the database calls delivered. */
async function checkArrived({ db, webhooks }: Evidence): Promise<string[]> {
  const { rows } = await db.query<{ event_id: string }>(
    `select event_id from webhook_deliveries where status = 'DELIVERED'`,
  );
  const missing = rows.map((row) => row.event_id).filter((id) => !webhooks.applied.has(id));
  return tell('deliveries that the receiver has not seen', missing);
}
