import { startHousekeeping } from './compose-housekeeping.ts';
import { startMailings } from './compose-mailings.ts';
import { countCleanup } from './compose-metrics.ts';
import { startNotifications } from './compose-notifications.ts';
import { openParts, type Parts, type ServiceOptions, untilLost } from './compose-parts.ts';
import { createEngine } from './processors/engine.ts';
import { startOperationWorker } from './queues/operation-worker.ts';
import { relayOutbox } from './queues/outbox-relay.ts';
import { pausesMs } from './queues/pauses.ts';
import { Reconciler } from './queues/reconciler.ts';
import { Recurring } from './queues/recurring.ts';
import { ensureApiKey } from './store/api-keys.ts';
import { openFileStorage } from './store/files/file-storage.ts';
import { Locks } from './store/locks.ts';
import { openRedis } from './store/redis.ts';
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
    const api = options.role === 'worker' ? undefined : await (await loadApi()).startApi(parts);
    const { METRICS_PORT } = options.config;
    const measures = options.role === 'worker' && METRICS_PORT !== undefined;
    const metrics = measures ? await (await loadApi()).serveMetrics(parts, METRICS_PORT) : undefined;
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

/** A worker has no use for it, and without it starts sooner and is smaller. */
async function loadApi() {
  return await import('./compose-api.ts');
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
