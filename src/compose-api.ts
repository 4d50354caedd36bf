import { createLoginLimit } from './api/admin/login-limit.ts';
import { createApp } from './api/app.ts';
import { checkHealth } from './api/health-report.ts';
import { type HttpServer, startHttpServer } from './api/http-server.ts';
import { createMetricsApp } from './api/metrics-app.ts';
import { createRateLimit } from './api/rate-limit.ts';
import { openAdmin, openCounters } from './compose-admin.ts';
import type { Parts } from './compose-parts.ts';
import { Enqueuer } from './queues/enqueue.ts';
import { openMailLinks } from './queues/mailings/open-mailings.ts';
import { ResultWaiter } from './queues/result-waiter.ts';
import { Submitter } from './queues/submit.ts';
import { createOperationHost } from './queues/webhooks/operation-host.ts';
import { openRedis } from './store/redis.ts';

/** The part of the composition root that answers HTTP. A worker that listens nowhere does not even load it. */
export async function startApi(
  parts: Parts,
): Promise<HttpServer & { routes: readonly { method: string; path: string }[] }> {
  const { config, log, db, redis, queues, prefix, results, instanceId, hitFailpoint, metrics } = parts;
  const subscriber = openRedis(config, 'subscriber', parts.warn('redis subscriber'));
  const waiter = new ResultWaiter({ db, subscriber, results, instanceId, log });
  const { close: closeCounters, ...counters } = openCounters(parts);
  const enqueuer = new Enqueuer({ db: parts.relaxedDb, queues, log, hitFailpoint, metrics });
  const submitter = new Submitter({ db, results, enqueuer, log, hitFailpoint, instanceId, metrics, ...counters });
  const stopping = new AbortController();
  const app = createApp({
    db,
    registry: parts.registry,
    submitter,
    waiter,
    ...counters,
    ...openAdmin(parts, { enqueuer, subscriber }),
    log,
    waitSeconds: config.WAIT_SECONDS,
    metrics,
    scrape: parts.scrape,
    operationHost: createOperationHost(config),
    mailings: {
      ...openMailLinks(config),
      storage: parts.storage,
      maxBytes: config.UPLOAD_MAX_BYTES,
      sender: config.MAIL_FROM,
      addJobs: parts.addMailingJobs,
      hitFailpoint,
    },
    queues,
    adminLogin: { password: config.SEMEL_ADMIN_PASSWORD, limit: createLoginLimit(redis, prefix) },
    stopping: stopping.signal,
    checkHealth: () => checkHealth({ db, redis, queues, storage: parts.storage }),
    consumeRateLimit: createRateLimit(redis, { prefix, perMinute: config.RATE_LIMIT_PER_MINUTE }),
  });
  if (!config.SEMEL_ADMIN_PASSWORD) log.warn('SEMEL_ADMIN_PASSWORD is not set, so the page /queues is off.');
  const server = await startHttpServer(app, { host: config.HOST, port: config.PORT });
  const close = async () => {
    stopping.abort();
    // Those who wait very long get their 202 while there is still time to send it.
    const release = setTimeout(() => waiter.release(), config.SHUTDOWN_TIMEOUT_MS / 2);
    await server.close();
    clearTimeout(release);
    waiter.close();
    await closeCounters();
    subscriber.disconnect();
  };
  return { url: server.url, routes: app.routes, close };
}

/** Of a worker: who scrapes it is told what it measures. */
export async function serveMetrics(parts: Parts, port: number): Promise<HttpServer> {
  // No client of the API comes here, and a scraper is not to be counted as one.
  const app = createMetricsApp({ ...parts, consumeRateLimit: async () => undefined });
  return await startHttpServer(app, { host: parts.config.HOST, port });
}
