import type { Logger } from 'pino';
import type { Config } from './config.ts';
import type { HitFailpoint } from './failpoints.ts';
import type { Metrics } from './metrics.ts';
import { createMxChecker } from './processors/mailings/addresses/mx-checker.ts';
import { InHand } from './processors/mailings/in-hand.ts';
import { startMailingWorker } from './queues/mailings/mailing-worker.ts';
import { openMailLinks } from './queues/mailings/open-mailings.ts';
import type { JobDraft } from './queues/queues.ts';
import { type Database, withClient } from './store/database.ts';
import type { FileStorage } from './store/files/file-storage.ts';
import { openMailTransport } from './store/mail/mail-transport.ts';
import type { RedisClient } from './store/redis.ts';

interface MailingParts {
  config: Config;
  log: Logger;
  db: Database;
  redis: RedisClient;
  connection: RedisClient;
  prefix: string;
  instanceId: string;
  storage: FileStorage;
  hitFailpoint: HitFailpoint;
  metrics: Metrics;
  addMailingJobs: (jobs: readonly JobDraft[]) => Promise<void>;
  warn: (connection: string) => (error: Error) => void;
  untilLost: (redis: RedisClient, work: Promise<unknown>) => Promise<void>;
}

/** The part of the composition root that reads files and sends mails. */
export function startMailings(parts: MailingParts): { close: () => Promise<void> } {
  const { config, log, db, hitFailpoint } = parts;
  const stopping = new AbortController();
  const transport = openMailTransport(config, {
    maxConnections: config.MAIL_CONNECTIONS,
    onData: () => hitFailpoint('mail.data'),
  });
  const { links } = openMailLinks(config);
  const copyOptions = {
    url: config.DATABASE_URL,
    idleInTransactionTimeoutMs: config.LOCK_DURATION_MS,
    onError: parts.warn('postgres copy'),
  };
  const shared = { db, log, hitFailpoint, actor: `worker:${parts.instanceId}`, stopping: stopping.signal };
  const worker = startMailingWorker({
    db,
    connection: parts.connection,
    prefix: parts.prefix,
    addJobs: parts.addMailingJobs,
    lockDurationMs: config.LOCK_DURATION_MS,
    log,
    ingest: {
      ...shared,
      storage: parts.storage,
      withCopyClient: (work) => withClient(copyOptions, work),
      mx: {
        mode: config.MX_CHECK,
        checker: createMxChecker(config.MX_DNS_SERVERS ? { servers: config.MX_DNS_SERVERS } : {}),
      },
    },
    sending: {
      ...shared,
      metrics: parts.metrics,
      transport,
      links,
      policy: { retryDelaysMs: config.RETRY_DELAYS_MS, resendsDoubtful: config.MAIL_POLICY === 'at-least-once' },
      // As many again as are under way: while those are answered, the next ones are claimed.
      inHand: new InHand(2 * transport.maxInHand),
    },
  });
  const close = async () => {
    stopping.abort();
    await parts.untilLost(parts.redis, worker.close());
    await transport.close();
  };
  return { close };
}
