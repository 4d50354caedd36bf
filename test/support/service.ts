import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { type Logger, pino } from 'pino';
import { inject } from 'vitest';
import { startService } from '../../src/compose.ts';
import { type Role, readConfig } from '../../src/config.ts';
import type { AnyOperation } from '../../src/processors/define-operation.ts';
import type { Consumer } from '../../src/queues/notification-worker.ts';
import { type Database, openDatabase } from '../../src/store/database.ts';
import { Api, testApiKey } from './api.ts';
import { createTestDatabase, testRedisPrefix, testRedisUrl } from './stores.ts';

export interface TestStores {
  /** What a process needs to find its stores. */
  environment: Record<string, string>;
  db: Database;
  close: () => Promise<void>;
}

export interface TestService extends TestStores {
  api: Api;
}

export interface TestServiceOptions {
  environment?: Record<string, string>;
  role?: Exclude<Role, 'migrate'>;
  operations?: readonly AnyOperation[];
  consumers?: readonly Consumer[];
  log?: Logger;
}

/** A database and a Redis prefix of the caller's own. */
export async function openTestStores(environment: Record<string, string> = {}): Promise<TestStores> {
  const database = await createTestDatabase();
  const db = openTestDatabase(database.url);
  return {
    environment: {
      DATABASE_URL: database.url,
      REDIS_URL: testRedisUrl(),
      REDIS_PREFIX: testRedisPrefix(),
      SEMEL_API_KEY: testApiKey,
      SEMEL_DATA_DIR: testDataDir(),
      PORT: '0',
      LOG_LEVEL: 'silent',
      ...environment,
    },
    db,
    close: async () => {
      await db.destroy();
      await database.drop();
    },
  };
}

/** A folder of the caller's own, deleted with all others at the end of the run. */
export function testDataDir(): string {
  return join(inject('runDir'), `data-${randomBytes(6).toString('hex')}`);
}

export function openTestDatabase(url: string): Database {
  return openDatabase({
    url,
    poolSize: 5,
    applicationName: 'test',
    idleInTransactionTimeoutMs: 0,
    onError: () => undefined,
  });
}

/** A service inside the test's own process, for tests that bring their own operations or look at the inside. */
export async function startTestService(options: TestServiceOptions = {}): Promise<TestService> {
  const stores = await openTestStores(options.environment);
  const service = await startServiceOn(stores, options);
  const api = new Api(service.url ?? '');
  return {
    ...stores,
    api,
    close: async () => {
      await api.close();
      await service.close();
      await stores.close();
    },
  };
}

export async function startServiceOn(stores: TestStores, options: TestServiceOptions = {}) {
  const { role = 'all', operations, consumers } = options;
  const config = readConfig({ ...stores.environment, ...options.environment });
  const log = options.log ?? pino({ level: config.LOG_LEVEL });
  return await startService({ config, role, log, ...(operations && { operations }), ...(consumers && { consumers }) });
}
