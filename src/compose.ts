import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { createLoginLimit } from './api/admin/login-limit.ts';
import { createApp } from './api/app.ts';
import { checkHealth } from './api/health-report.ts';
import { type HttpServer, startHttpServer } from './api/http-server.ts';
import { createRateLimit } from './api/rate-limit.ts';
import { openAdmin, openCounters } from './compose-admin.ts';
import { startHousekeeping } from './compose-housekeeping.ts';
import { startMailings } from './compose-mailings.ts';
import { countCleanup, openMetrics, serveMetrics } from './compose-metrics.ts';
import { startNotifications } from './compose-notifications.ts';
import type { Config, Role } from './config.ts';
import { createFailpoints } from './failpoints.ts';
import type { AnyOperation } from './processors/define-operation.ts';
import { createEngine } from './processors/engine.ts';
import { createRegistry, operations } from './processors/registry.ts';
import { Enqueuer } from './queues/enqueue.ts';
import { createJobAdder, openMailLinks } from './queues/mailings/open-mailings.ts';
import type { Consumer } from './queues/notification-worker.ts';
import { startOperationWorker } from './queues/operation-worker.ts';
import { relayOutbox } from './queues/outbox-relay.ts';
import { pausesMs } from './queues/pauses.ts';
import { Queues } from './queues/queues.ts';
import { Reconciler } from './queues/reconciler.ts';
import { Recurring } from './queues/recurring.ts';
import { ResultWaiter } from './queues/result-waiter.ts';
import { Submitter } from './queues/submit.ts';
import { createOperationHost } from './queues/webhooks/operation-host.ts';
import { ensureApiKey } from './store/api-keys.ts';
import { openDatabase } from './store/database.ts';
import { type FileStorage, openFileStorage } from './store/files/file-storage.ts';
import { Locks } from './store/locks.ts';
import { hashTagOf, isRedisAtFault, openRedis, type RedisClient } from './store/redis.ts';
import { Results } from './store/results.ts';
import { checkStores, warnOfClocks } from './store/start-checks.ts';

export interface Service {
  /** The routes of the API, if this process has one. */
  routes: readonly { method: string; path: string }[];
  /** Where the API listens, if this process has one. */
  url: string | undefined;
  /** Where a process without an API shows what it measures, if it is to. */
  metricsUrl: string | undefined;
  /** Stops taking work, finishes what is in hand and closes every connection. */
  close: () => Promise<void>;
}

export interface ServiceOptions {
  config: Config;
  role: Exclude<Role, 'migrate'>;
  log: Logger;
  operations?: readonly AnyOperation[];
  /** More consumers of events, besides webhooks and alerts. */
  consumers?: readonly Consumer[];
}

/** The composition root: the only place that opens Postgres, Redis, queues and workers. */
export async function startService(options: ServiceOptions): Promise<Service> {
  const { STORAGE_URL, SEMEL_DATA_DIR, S3_ENDPOINT } = options.config;
  const storage = await openFileStorage({ STORAGE_URL, SEMEL_DATA_DIR, S3_ENDPOINT });
  const parts = openParts(options, storage);
  try {
    await checkStores(parts);
    const { SEMEL_API_KEY } = options.config;
    if (SEMEL_API_KEY) await ensureApiKey(parts.db, SEMEL_API_KEY, { client: 'default', scopes: ['admin'] });
    const worker = options.role === 'api' ? undefined : startWorker(parts);
    const api = options.role === 'worker' ? undefined : await startApi(parts);
    const metrics = options.role === 'worker' ? await serveMetrics(parts) : undefined;
    const close = async () => {
      // The API first: those who wait there are waiting for the workers.
      await api?.close();
      await worker?.close();
      await metrics?.close();
      await parts.close();
    };
    return { url: api?.url, routes: api?.routes ?? [], metricsUrl: metrics?.url, close };
  } catch (error) {
    await parts.close();
    throw error;
  }
}

type Parts = ReturnType<typeof openParts>;

function openParts(
  { config, role, log, operations: list = operations, consumers = [] }: ServiceOptions,
  storage: FileStorage,
) {
  const instanceId = randomUUID();
  const prefix = hashTagOf(config.REDIS_PREFIX);
  const hitFailpoint = createFailpoints(config.SEMEL_FAILPOINTS);
  const warn = (name: string) => (error: Error) => log.warn({ err: error, connection: name }, 'connection error');
  const db = openDatabase({
    url: config.DATABASE_URL,
    poolSize: config.DATABASE_POOL_SIZE,
    applicationName: `semel-${role}`,
    idleInTransactionTimeoutMs: config.LOCK_DURATION_MS,
    onError: warn('postgres'),
  });
  // For what may be lost in a crash of Postgres because it is made good: it does not wait for the disk.
  const relaxedDb = openDatabase({
    url: config.DATABASE_URL,
    poolSize: 2,
    applicationName: `semel-${role}-relaxed`,
    idleInTransactionTimeoutMs: config.LOCK_DURATION_MS,
    synchronousCommit: false,
    onError: warn('postgres'),
  });
  const redis = openRedis(config, 'caller', warn('redis'));
  const queues = new Queues(redis, prefix, warn('queue'));
  const results = new Results(redis, prefix, config.RESULT_CACHE_TTL_SECONDS);
  const registry = createRegistry(list);
  const { metrics, scraping } = openMetrics({ role, operations: [...registry.keys()], db, redis, queues, log });
  const close = async () => {
    await scraping.close();
    await untilLost(redis, queues.close());
    redis.disconnect();
    storage.close();
    await Promise.all([db.destroy(), relaxedDb.destroy()]);
  };
  return {
    config,
    log,
    instanceId,
    prefix,
    hitFailpoint,
    warn,
    db,
    relaxedDb,
    redis,
    queues,
    storage,
    addMailingJobs: createJobAdder(queues, log),
    results,
    registry,
    metrics,
    scrape: scraping.scrape,
    consumers,
    close,
  };
}

function startWorker(parts: Parts): { close: () => Promise<void> } {
  const { config, log, db, redis, queues, prefix, hitFailpoint } = parts;
  const engine = createEngine({
    db,
    // Half of the job's lock: when the job is taken over, the dead worker's lock on the record is gone too.
    locks: new Locks(redis, prefix, Math.floor(config.LOCK_DURATION_MS / 2)),
    results: parts.results,
    registry: parts.registry,
    log,
    hitFailpoint,
    actor: `worker:${parts.instanceId}`,
    retryDelaysMs: config.RETRY_DELAYS_MS,
    recordTtlSeconds: config.RECORD_TTL_SECONDS,
    lockDurationMs: config.LOCK_DURATION_MS,
  });
  const connection = openRedis(config, 'worker', parts.warn('redis worker'));
  const worker = startOperationWorker({
    engine,
    connection,
    prefix,
    concurrency: config.WORKER_CONCURRENCY,
    lockDurationMs: config.LOCK_DURATION_MS,
    log,
    hitFailpoint,
    metrics: parts.metrics,
  });
  const isRedisReady = () => redis.status === 'ready';
  const relay = new Recurring({
    name: 'outbox relay',
    pauseMs: pausesMs.relay,
    log,
    task: () => relayOutbox({ db, queues, isRedisReady, log, hitFailpoint, metrics: parts.metrics }),
  });
  const reconciler = new Reconciler({ db, queues, redis, prefix, log, hitFailpoint });
  const reconciling = new Recurring({
    name: 'reconciler',
    pauseMs: pausesMs.reconcile,
    log,
    task: async () => (isRedisReady() ? await reconciler.reconcile() : 0),
  });
  // An API shows the state of its clock in /health. Nobody asks a worker, so it looks by itself.
  const clocks = new Recurring({
    name: 'clocks',
    pauseMs: pausesMs.clocks,
    log,
    task: () => warnOfClocks(parts),
  });
  const notifications = startNotifications({ ...parts, connection, untilLost });
  const mailings = startMailings({ ...parts, connection, untilLost });
  const housekeeping = startHousekeeping({
    ...parts,
    connection,
    untilLost,
    onHousekeepingRun: countCleanup(parts.metrics),
  });
  const close = async () => {
    await Promise.all([
      untilLost(redis, worker.close()),
      notifications.close(),
      mailings.close(),
      housekeeping.close(),
      relay.stop(),
      reconciling.stop(),
      clocks.stop(),
    ]);
    connection.disconnect();
  };
  return { close };
}

async function startApi(parts: Parts): Promise<HttpServer & Pick<Service, 'routes'>> {
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

/** Without Redis no job can be ended and nothing closes in order, so there is nothing to wait for. */
async function untilLost(redis: RedisClient, work: Promise<unknown>): Promise<void> {
  // What fails for want of Redis is as good as closed.
  const closed = work.catch((error: unknown) => {
    if (!isRedisAtFault(error)) throw error;
  });
  if (redis.status !== 'ready') return void closed.catch(() => undefined);
  // Not `once` of node:events, which takes the error that comes before the end for its own.
  const lost = new Promise<void>((resolve) => redis.once('close', () => resolve()));
  await Promise.race([closed, lost]);
}
