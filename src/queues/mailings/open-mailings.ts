import type { Logger } from 'pino';
import type { Config } from '../../config.ts';
import { createMailLinks, type MailLinks } from '../../processors/mailings/links.ts';
import { withDeadline } from '../../store/deadline.ts';
import { mailingsQueue } from '../../store/mailings/mailing-actions.ts';
import { openSecretKey } from '../../store/secret-key.ts';
import type { JobDraft, Queues } from '../queues.ts';

/** How long the fast path may take. After that the relay brings the jobs. */
const addTimeoutMs = 1_000;

/** The links in mails, and the key that signs them. */
export function openMailLinks(
  config: Pick<Config, 'SEMEL_SECRET_KEY' | 'SEMEL_DATA_DIR' | 'PUBLIC_URL' | 'HOST' | 'PORT'>,
): { links: MailLinks; linkKey: () => Buffer } {
  const linkKey = openSecretKey(config, 'unsubscribe links');
  return { linkKey, links: createMailLinks(config.PUBLIC_URL ?? ownUrl(config), linkKey) };
}

/** Good enough for a machine that talks to itself. Whoever mails people sets PUBLIC_URL. */
function ownUrl({ HOST, PORT }: Pick<Config, 'HOST' | 'PORT'>): string {
  const isAnywhere = HOST === '0.0.0.0' || HOST === '::';
  const host = isAnywhere ? '127.0.0.1' : HOST.includes(':') ? `[${HOST}]` : HOST;
  return `http://${host}:${PORT}`;
}

/** Adds jobs of mailings at once. What Redis does not take now stays in the outbox for the relay. */
export function createJobAdder(queues: Queues, log: Logger): (jobs: readonly JobDraft[]) => Promise<void> {
  return async (jobs) => {
    if (jobs.length === 0) return;
    const adding = queues.add(mailingsQueue, jobs);
    await withDeadline(adding, addTimeoutMs, () => new Error('Redis did not answer')).catch((error: unknown) => {
      log.warn({ err: error, jobs: jobs.length }, 'left to the outbox relay');
    });
  };
}
