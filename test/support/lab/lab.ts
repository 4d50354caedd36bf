import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import pg from 'pg';
import { testApiKey } from '../api.ts';
import type { Evidence, Verdict } from '../checker/evidence.ts';
import { judgeRun } from '../checker/judge-run.ts';
import { type CountingSink, startCountingSink } from '../counting-sink.ts';
import { eventually } from '../eventually.ts';
import { EndedAtStart, type ProcessRole, type ServiceProcess, type SpawnOptions } from '../service-process.ts';
import { TcpProxy } from '../tcp-proxy.ts';
import { Journal } from './journal.ts';
import { Load } from './load.ts';
import { Random } from './random.ts';
import { startWebhookSink, type WebhookSink } from './webhook-sink.ts';

/** A server that can be killed and started again with its data. */
export interface LabServer {
  readonly url: string;
  readonly port: number;
  pid(): number;
  kill(): Promise<void>;
  start(): Promise<void>;
}

export interface LabParts {
  databaseUrl: string;
  /** Only of scenarios that are cruel to Postgres itself. */
  postgres?: LabServer | undefined;
  redis: LabServer & { dir: string };
  dataDir: string;
  environment?: Record<string, string> | undefined;
  /** What goes through a proxy. */
  proxied?: readonly Proxied[] | undefined;
  startProcess: (
    role: ProcessRole,
    environment: Record<string, string>,
    options?: SpawnOptions,
  ) => Promise<ServiceProcess>;
  seed?: number;
  /** Where processes write their logs, for whoever looks for the cause of something. */
  logDir?: string | undefined;
}

export type Proxied = 'postgres' | 'redis';

export interface StartOptions extends SpawnOptions {
  failpoints?: string;
  environment?: Record<string, string>;
}

/** On a busy machine a connection may take longer than a start waits for it. */
const maxStarts = 20;
const startPauseMs = 500;

/** Short times, so that a recovery takes a second or two instead of ten. */
const quickly: Record<string, string> = {
  LOCK_DURATION_MS: '1500',
  WAIT_SECONDS: '2',
  RETRY_DELAYS_MS: '200,400',
  WEBHOOK_ALLOW_PRIVATE: 'true',
  WEBHOOK_TIMEOUT_MS: '1000',
  // Many: on a busy machine an attempt may fail although the receiver is well.
  WEBHOOK_RETRY_DELAYS_MS: Array.from({ length: 30 }, () => '300').join(','),
  MAIL_CONNECTIONS: '5',
  MAIL_TIMEOUT_MS: '2000',
  WORKER_CONCURRENCY: '20',
  RATE_LIMIT_PER_MINUTE: '0',
};

export const subscribedEvents = [
  'transfer.completed',
  'transfer.rejected',
  'proposal.submitted',
  'proposal.accepted',
  'proposal.rejected',
  'mailing.completed',
  'operation.failed',
];

/** One run: real stores, sinks and processes, clients under way, and a count of what was done to them. */
export class Lab {
  readonly db: pg.Pool;
  readonly redis: Redis;
  readonly journal = new Journal();
  readonly load: Load;
  /** What was done to the service, and how often. */
  readonly injected = new Map<string, number>();
  readonly poison = new Set<string>();
  readonly prefix = `lab-${randomUUID().slice(0, 8)}`;
  readonly parts: LabParts;
  readonly mail: CountingSink;
  readonly webhooks: WebhookSink;
  readonly random: Random;
  readonly #proxies: Map<Proxied, TcpProxy>;
  readonly #begun: Promise<unknown>[] = [];
  readonly #processes = new Set<ServiceProcess>();
  /** Addresses that the clients use instead of those of the processes. */
  apiUrls: (() => readonly string[]) | undefined;

  private constructor(parts: LabParts, sinks: [CountingSink, WebhookSink], proxies: Map<Proxied, TcpProxy>) {
    this.parts = parts;
    [this.mail, this.webhooks] = sinks;
    this.#proxies = proxies;
    this.random = new Random(parts.seed ?? 1);
    this.db = new pg.Pool({ connectionString: parts.databaseUrl, max: 6 });
    // A database that is killed takes idle connections with it; that is what we came for.
    this.db.on('error', () => undefined);
    this.redis = new Redis(parts.redis.url, { retryStrategy: () => 100 });
    this.redis.on('error', () => undefined);
    const urls = () => this.apiUrls?.() ?? this.running('api').map((service) => service.api.url);
    this.load = new Load({ urls, journal: this.journal, random: this.random });
  }

  static async open(parts: LabParts): Promise<Lab> {
    const sinks = await Promise.all([startCountingSink(), startWebhookSink()]);
    const portOf = { postgres: Number(new URL(parts.databaseUrl).port), redis: parts.redis.port };
    const proxies = await Promise.all(
      (parts.proxied ?? []).map(async (name) => [name, await TcpProxy.open(portOf[name])] as const),
    );
    return new Lab(parts, sinks, new Map(proxies));
  }

  get environment(): Record<string, string> {
    const { databaseUrl, redis, dataDir, environment } = this.parts;
    const [postgresProxy, redisProxy] = [this.#proxies.get('postgres'), this.#proxies.get('redis')];
    return {
      DATABASE_URL: postgresProxy?.through(databaseUrl) ?? databaseUrl,
      REDIS_URL: redisProxy?.through(redis.url) ?? redis.url,
      REDIS_PREFIX: this.prefix,
      SEMEL_API_KEY: testApiKey,
      SEMEL_SECRET_KEY: 'a-key-for-the-lab-of-32-characters',
      SEMEL_DATA_DIR: dataDir,
      MAIL_URL: `${this.mail.url}?ignoreTLS=true`,
      PORT: '0',
      ...quickly,
      ...environment,
    };
  }

  proxy(name: Proxied): TcpProxy {
    const proxy = this.#proxies.get(name);
    if (!proxy) throw new Error(`${name} goes through no proxy here`);
    return proxy;
  }

  /** Notes that something was done to the service. */
  inject(what: string, times = 1): void {
    this.injected.set(what, (this.injected.get(what) ?? 0) + times);
  }

  /** As a supervisor does: a process that meets a store which does not answer yet is started again. */
  async start(role: ProcessRole, options: StartOptions = {}): Promise<ServiceProcess> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#startOnce(role, options);
      } catch (error) {
        const isUnlucky = error instanceof EndedAtStart && error.code === 1 && attempt < maxStarts;
        if (!isUnlucky) throw error;
        await pause(startPauseMs);
      }
    }
  }

  async #startOnce(role: ProcessRole, options: StartOptions): Promise<ServiceProcess> {
    const { failpoints, environment, under } = options;
    const { logDir } = this.parts;
    const service = await this.parts.startProcess(
      role,
      { ...this.environment, ...environment, ...(failpoints && { SEMEL_FAILPOINTS: failpoints }) },
      { ...(under && { under }), ...(logDir && { logFile: join(logDir, `${this.prefix}-${role}-${randomUUID()}`) }) },
    );
    this.#processes.add(service);
    service.exited.then(() => this.#processes.delete(service));
    return service;
  }

  /** The living processes that do a role's work. */
  running(role: 'api' | 'worker'): ServiceProcess[] {
    return [...this.#processes].filter((service) => service.isRunning() && [role, 'all'].includes(service.role));
  }

  /** A process that dies by a failpoint, maybe before it has said that it is ready. */
  async runUntilDead(role: ProcessRole, options: StartOptions): Promise<void> {
    const service = await this.start(role, options).catch((error: unknown) => {
      if (error instanceof EndedAtStart && error.code === null) return undefined;
      throw error;
    });
    await service?.exited;
  }

  /** Processes (one that is all in one, unless told otherwise), a webhook for all events, and accounts with money. */
  async prepare({ all = 0, apis = 0, workers = 0 }: Partial<Record<'all' | 'apis' | 'workers', number>> = {}) {
    const isPlain = all + apis + workers === 0;
    await Promise.all([
      ...Array.from({ length: isPlain ? 1 : all }, () => this.start('all')),
      ...Array.from({ length: apis }, () => this.start('api')),
      ...Array.from({ length: workers }, () => this.start('worker')),
    ]);
    await Promise.all([this.load.registerWebhook(this.webhooks.url, subscribedEvents), this.load.openAccounts()]);
  }

  /** Waits until a process has stopped itself at a failpoint. */
  async untilStopped(service: ServiceProcess): Promise<void> {
    await eventually(
      async () => {
        const stat = await readFile(`/proc/${service.pid}/stat`, 'utf8');
        if (stat.slice(stat.lastIndexOf(')') + 2)[0] !== 'T') throw new Error('the process has not stopped');
      },
      { timeoutMs: 120_000 },
    );
  }

  /** Waits until so many records stand in the queue, and nowhere but there. */
  async untilQueued(count: number): Promise<void> {
    await this.#untilCount('select count(*) as n from records where settled_at is null', (n) => n >= count);
    await this.#untilCount(`select count(*) as n from outbox where queue = 'operations'`, (n) => n === 0);
  }

  /** Waits until no record, entry or delivery is on its way. */
  async untilQuiet(): Promise<void> {
    const open = `select (select count(*) from records where settled_at is null)
      + (select count(*) from mailings where status not in ('COMPLETED', 'FAILED', 'CANCELLED'))
      + (select count(*) from webhook_deliveries where status = 'PENDING') + (select count(*) from outbox) as n`;
    await this.#untilCount(open, (n) => n === 0);
  }

  async #untilCount(query: string, isEnough: (count: number) => boolean): Promise<void> {
    await eventually(
      async () => {
        const { rows } = await this.db.query<{ n: string }>(query);
        if (!isEnough(Number(rows[0]?.n))) throw new Error(`${query} is ${rows[0]?.n}`);
      },
      { timeoutMs: 120_000, intervalMs: 50 },
    );
  }

  /** Work that goes on beside the faults. Its end is awaited once all is healed. */
  begin(work: Promise<unknown>): void {
    this.#begun.push(work);
    // It is awaited later; until then a failure must not look like one that nobody handles.
    work.catch(() => undefined);
  }

  /** All that was begun has ended. */
  async finish(): Promise<void> {
    await Promise.all(this.#begun);
  }

  /** Waits until the clients have so many more answers. */
  async progress(answers: number): Promise<void> {
    const goal = this.load.done + answers;
    await eventually(
      () => {
        if (this.load.done < goal) throw new Error(`the load stands at ${this.load.done} and not at ${goal}`);
      },
      { timeoutMs: 120_000, intervalMs: 5 },
    );
  }

  /** The end of all faults: what is stopped goes on, the network is sound, and there is an API and a worker. */
  async heal(): Promise<void> {
    for (const proxy of this.#proxies.values()) proxy.heal();
    for (const service of this.#processes) service.signal('SIGCONT');
    this.mail.moodFor = () => 'take';
    this.webhooks.receptionFor = () => 'take';
    const missing = (['api', 'worker'] as const).filter((role) => this.running(role).length === 0);
    await Promise.all(missing.map((role) => this.start(role)));
  }

  /** Ninety seconds: the longest pause between two tries of a mailing or an event is a minute. */
  async judge({ patienceMs = 90_000 }: { patienceMs?: number } = {}): Promise<Verdict> {
    const { db, mail, webhooks, journal, poison } = this;
    const mailsMayRepeat = this.environment.MAIL_POLICY === 'at-least-once';
    const evidence: Evidence = { db, mail, webhooks, journal, poison, mailsMayRepeat };
    return await judgeRun(evidence, { patienceMs });
  }

  async close(): Promise<void> {
    await this.load.close();
    await Promise.all([...this.#processes].map((service) => service.kill()));
    await Promise.all([...this.#proxies.values()].map((proxy) => proxy.close()));
    this.redis.disconnect();
    await Promise.all([this.db.end(), this.mail.close(), this.webhooks.close()]);
  }
}
