import type { HttpBindings } from '@hono/node-server';
import type { Context } from 'hono';
import type { Logger } from 'pino';
import type { HitFailpoint } from '../failpoints.ts';
import type { Metrics } from '../metrics.ts';
import type { OperationHost } from '../processors/define-operation.ts';
import type { MailLinks } from '../processors/mailings/links.ts';
import type { Registry } from '../processors/registry.ts';
import type { KeyChanges } from '../queues/key-changes.ts';
import type { KeyUses } from '../queues/key-uses.ts';
import type { JobDraft, Queues } from '../queues/queues.ts';
import type { ReplayCounter } from '../queues/replay-counter.ts';
import type { RequestCounter } from '../queues/request-counter.ts';
import type { ResultWaiter } from '../queues/result-waiter.ts';
import type { RetryParts } from '../queues/retry-dead-letters.ts';
import type { Submitter } from '../queues/submit.ts';
import type { ApiScope } from '../store/api-keys.ts';
import type { Database } from '../store/database.ts';
import type { FileStorage } from '../store/files/file-storage.ts';
import type { AdminLogin } from './admin/require-admin.ts';
import type { HealthReport } from './health-report.ts';
import type { ConsumeRateLimit } from './rate-limit.ts';

/** Who calls. Everything that is kept is scoped to it. */
export interface Caller {
  client: string;
  subClient: string;
  scopes: readonly ApiScope[];
  /** The id of the API key, for the traces of what operators do. */
  keyId: string;
}

export interface ApiEnv {
  Bindings: HttpBindings;
  Variables: { requestId: string; caller: Caller };
}

export type ApiContext = Context<ApiEnv>;

/** What the routes of mailings need besides the database. */
export interface MailingApiParts {
  storage: FileStorage;
  maxBytes: number;
  /** Unless an upload names another one. */
  sender: string;
  links: MailLinks;
  linkKey: () => Buffer;
  /** Never fails: the relay brings what Redis does not take now. */
  addJobs: (jobs: readonly JobDraft[]) => Promise<void>;
  hitFailpoint: HitFailpoint;
}

/** What the routes work with. */
export interface ApiParts {
  db: Database;
  registry: Registry;
  submitter: Submitter;
  waiter: ResultWaiter;
  replayCounter: ReplayCounter;
  requestCounter: RequestCounter;
  keyUses: KeyUses;
  keyChanges: KeyChanges;
  /** What repairs work with. */
  repairs: RetryParts;
  operationHost: OperationHost;
  mailings: MailingApiParts;
  queues: Queues;
  adminLogin: AdminLogin;
  /** Aborted when the process is to end, so that streams without an end of their own end too. */
  stopping: AbortSignal;
  log: Logger;
  waitSeconds: number;
  checkHealth: () => Promise<HealthReport>;
  consumeRateLimit: ConsumeRateLimit;
  metrics: Metrics;
  /** Everything that is measured, as text for Prometheus. Never fails. */
  scrape: () => Promise<string>;
}

/** A request header as Node read it: repeated ones are joined by a comma. */
export function headerOf(c: ApiContext, name: string): string | undefined {
  const value = c.env.incoming.headers[name];
  return Array.isArray(value) ? value.join(', ') : value;
}
