import { Cluster, Redis } from 'ioredis';
import type { Config } from '../config.ts';

export type RedisClient = Redis | Cluster;

type RedisSettings = Pick<
  Config,
  'REDIS_URL' | 'REDIS_CLUSTER' | 'REDIS_SENTINELS' | 'REDIS_SENTINEL_MASTER' | 'REDIS_USERNAME' | 'REDIS_PASSWORD'
>;

interface ConnectionBehaviour {
  enableOfflineQueue?: boolean;
  enableAutoPipelining?: boolean;
  maxRetriesPerRequest: number | null;
  commandTimeout?: number;
  autoResubscribe?: boolean;
}

/** What a connection is for decides how it behaves while Redis is away. */
const optionsFor = {
  /** Answers requests: fails at once while Redis is away, and gives up on a Redis that does not answer. */
  caller: { enableOfflineQueue: false, maxRetriesPerRequest: 0, commandTimeout: 1_000, enableAutoPipelining: true },
  /** Runs jobs: BullMQ blocks on it and wants it to wait for Redis for as long as it takes. */
  worker: { maxRetriesPerRequest: null },
  /** Listens: subscribes again by itself after a reconnect. */
  subscriber: { maxRetriesPerRequest: null, autoResubscribe: true },
} as const satisfies Record<string, ConnectionBehaviour>;

/** Longer than any healthy handshake, short enough that the next try comes soon. */
const connectTimeoutMs = 2_000;

/** Quick enough that the queue moves again within a second of Redis being back. */
const retryStrategy = (attempt: number) => Math.min(50 * attempt, 500);

export function openRedis(
  settings: RedisSettings,
  purpose: keyof typeof optionsFor,
  onError: (error: Error) => void,
): RedisClient {
  const client = connect(settings, optionsFor[purpose]);
  client.on('error', onError);
  return client;
}

function connect(settings: RedisSettings, behaviour: ConnectionBehaviour): RedisClient {
  const { enableOfflineQueue = true, enableAutoPipelining = false, ...rest } = behaviour;
  const options = { ...rest, enableAutoPipelining, connectTimeout: connectTimeoutMs };
  const { REDIS_USERNAME: username, REDIS_PASSWORD: password } = settings;
  const credentials = { ...(username !== undefined && { username }), ...(password !== undefined && { password }) };
  if (settings.REDIS_CLUSTER) {
    return new Cluster(settings.REDIS_CLUSTER, {
      redisOptions: { ...options, ...credentials },
      clusterRetryStrategy: retryStrategy,
      enableOfflineQueue,
      enableAutoPipelining,
    });
  }
  if (settings.REDIS_SENTINELS && settings.REDIS_SENTINEL_MASTER) {
    const { REDIS_SENTINELS: sentinels, REDIS_SENTINEL_MASTER: name } = settings;
    return new Redis({ ...options, ...credentials, enableOfflineQueue, retryStrategy, sentinels, name });
  }
  return new Redis(settings.REDIS_URL ?? '', { ...options, enableOfflineQueue, retryStrategy });
}

/** What a Redis says that is full, loading, read-only, busy or being replaced, and what we say when it says nothing. */
const faultOfRedis =
  /^(OOM|LOADING|READONLY|MISCONF|NOREPLICAS|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|BUSY|UNBLOCKED)\b|max number of clients|timed out|Connection is closed|isn't writeable|ECONN|EPIPE|ETIMEDOUT|max retries/i;

/** Whether a call failed because of the state that Redis is in, so that what was asked for is not to blame. */
export function isRedisAtFault(error: unknown): boolean {
  return error instanceof Error && faultOfRedis.test(error.message);
}

/** All keys of an installation share one hash tag, so that every script finds its keys on one node of a cluster. */
export function hashTagOf(prefix: string): string {
  return `{${prefix}}`;
}

/** What is wrong with the way Redis is set up, or undefined. Managed services may forbid the question. */
export async function findRedisMisconfiguration(redis: RedisClient): Promise<string | undefined> {
  const [, policy] = (await redis.config('GET', 'maxmemory-policy').catch(() => [])) as string[];
  if (policy === undefined || policy === 'noeviction') return undefined;
  return `Redis has maxmemory-policy ${policy}, so it may drop jobs. Set it to noeviction.`;
}

const unavailableMessage =
  /Connection is closed|Stream isn't writeable|Command timed out|max retries per request|ECONNREFUSED|ECONNRESET|EPIPE|ENOTFOUND|LOADING|CLUSTERDOWN|Failed to refresh slots|All sentinels are unreachable/i;

/** Whether an error says "Redis is away" as opposed to "this command is wrong". */
export function isRedisUnavailable(error: unknown): boolean {
  return error instanceof Error && unavailableMessage.test(error.message);
}
