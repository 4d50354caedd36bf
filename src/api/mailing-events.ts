import { setTimeout as pause } from 'node:timers/promises';
import { findMailing, type MailingStatus } from '../store/mailings/mailings.ts';
import type { ApiContext, ApiParts } from './api-env.ts';
import { mailingView } from './mailing-view.ts';

/** Often enough to look alive. Each look is a sum over the batches, which even for a million rows takes a millisecond. */
const lookIntervalMs = 500;
/** Proxies close a connection on which nothing is heard; most of them after a minute. */
const heartbeatMs = 15_000;

const finalStatuses: readonly MailingStatus[] = ['COMPLETED', 'FAILED', 'CANCELLED'];

/** The progress of a mailing as server-sent events: one at once, one for each change, and the end with the last. */
export function streamProgress(parts: ApiParts, c: ApiContext, mailingId: string): Response {
  const { client } = c.get('caller');
  const gone = new AbortController();
  c.env.outgoing.once('close', () => gone.abort());
  const signal = AbortSignal.any([gone.signal, parts.stopping]);
  const body = ReadableStream.from(watch(parts, { client, id: mailingId }, signal));
  const headers = {
    'content-type': 'text/event-stream',
    'cache-control': 'no-store',
    // Tells nginx to pass each event on at once.
    'x-accel-buffering': 'no',
    'x-request-id': c.get('requestId'),
  };
  return new Response(body.pipeThrough(new TextEncoderStream()), { headers });
}

async function* watch(
  parts: Pick<ApiParts, 'db' | 'log'>,
  mailing: { client: string; id: string },
  signal: AbortSignal,
): AsyncGenerator<string> {
  let last = '';
  let lastSaidMs = Date.now();
  while (!signal.aborted) {
    // Postgres away is no reason to hang up: the next look may succeed.
    const row = await findMailing(parts.db, mailing.client, mailing.id).catch((error: unknown) => {
      parts.log.warn({ err: error, mailingId: mailing.id }, 'no progress can be read');
      return 'unreadable' as const;
    });
    if (row === undefined) return;
    const text = row === 'unreadable' ? last : JSON.stringify(mailingView(row));
    if (text !== last) {
      yield `event: progress\ndata: ${text}\n\n`;
      [last, lastSaidMs] = [text, Date.now()];
    } else if (Date.now() - lastSaidMs >= heartbeatMs) {
      yield ': still here\n\n';
      lastSaidMs = Date.now();
    }
    if (row !== 'unreadable' && finalStatuses.includes(row.status)) return;
    await pause(lookIntervalMs, undefined, { signal }).catch(() => undefined);
  }
}
