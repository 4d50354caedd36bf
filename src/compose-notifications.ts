import type { Logger } from 'pino';
import type { Config } from './config.ts';
import type { HitFailpoint } from './failpoints.ts';
import { createAlertMailer } from './queues/alerts/alert-mailer.ts';
import { queueAlert } from './queues/alerts/queue-alert.ts';
import { deduplicate } from './queues/deduplicated-consumer.ts';
import { type Consumer, startNotificationWorker } from './queues/notification-worker.ts';
import { pausesMs } from './queues/pauses.ts';
import { Recurring } from './queues/recurring.ts';
import { enqueueDeliveries } from './queues/webhooks/enqueue-deliveries.ts';
import { createWebhookPump } from './queues/webhooks/pump.ts';
import { PostgresDedupStore } from './receiver/postgres-dedup-store.ts';
import { RedisDedupStore } from './receiver/redis-dedup-store.ts';
import type { Database } from './store/database.ts';
import { openMailTransport } from './store/mail/mail-transport.ts';
import type { RedisClient } from './store/redis.ts';

interface NotificationParts {
  config: Config;
  log: Logger;
  db: Database;
  redis: RedisClient;
  connection: RedisClient;
  prefix: string;
  hitFailpoint: HitFailpoint;
  /** More consumers of events, besides webhooks and alerts. */
  consumers: readonly Consumer[];
  untilLost: (redis: RedisClient, work: Promise<unknown>) => Promise<void>;
}

/** The part of the composition root through which what happens reaches the outside: events go to their consumers. */
export function startNotifications(parts: NotificationParts): { close: () => Promise<void> } {
  const { config, log, db, redis, connection, prefix, hitFailpoint, untilLost } = parts;
  const leaseMs = config.LOCK_DURATION_MS;
  const stores = {
    redis: new RedisDedupStore({ redis, prefix: `${prefix}:consumed`, leaseMs }),
    postgres: new PostgresDedupStore({ db, leaseMs }),
    log,
  };
  const pump = createWebhookPump({ db, log, config, hitFailpoint });
  const pumping = new Recurring({ name: 'webhooks', pauseMs: pausesMs.webhooks, log, task: () => pump.runOnce() });
  const mailing = startAlertMails(parts);
  const webhooks: Consumer = {
    group: 'webhooks',
    consume: async (event) => {
      await enqueueDeliveries(db, event);
      pumping.wake();
    },
  };
  const alerts: Consumer = { group: 'alerts', consume: (event) => queueAlert(db, event, config.ALERT_MAIL_TO) };
  const worker = startNotificationWorker({
    db,
    connection,
    prefix,
    consumers: [webhooks, alerts, ...parts.consumers].map((consumer) => deduplicate(consumer, stores)),
    lockDurationMs: config.LOCK_DURATION_MS,
    log,
    hitFailpoint,
  });
  const close = async () => {
    await untilLost(redis, worker.close());
    await Promise.all([pumping.stop(), mailing?.stop()]);
    await pump.drain();
  };
  return { close };
}

/** Nobody to tell, nothing to look for. */
function startAlertMails({ config, db, log }: NotificationParts): Recurring | undefined {
  const { ALERT_MAIL_TO: to, MAIL_FROM: from } = config;
  if (to === undefined) return undefined;
  // A mailer that is alive is done by then: the conversation and as long again for the outcome's commit.
  const timing = { leaseMs: 2 * config.MAIL_TIMEOUT_MS };
  const mailer = createAlertMailer({ db, transport: openMailTransport(config), from, to, log, timing });
  return new Recurring({ name: 'alert mails', pauseMs: pausesMs.alerts, log, task: () => mailer.runOnce() });
}
