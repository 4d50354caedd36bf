import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

/** How a request for an operation was met. The last three are duplicates. */
export type SubmissionOutcome = 'created' | 'revived' | 'failed' | 'replayed' | 'attached' | 'mismatched';
/** By what a duplicate was recognised: its key was answered, is in flight or means another request; a file, by this. */
export type DuplicateReason = 'answered' | 'in_flight' | 'mismatch' | 'filename' | 'content' | 'key';
export type RunOutcome = 'succeeded' | 'rejected' | 'failed' | 'unknown' | 'retried';
export type MailStatus = 'sent' | 'failed' | 'unknown' | 'retried';

export type Metrics = ReturnType<typeof createMetrics>;

export interface MetricsOptions {
  /** The names that may become labels. What a client makes up never does. */
  operations: readonly string[];
  servesApi: boolean;
  runsJobs: boolean;
}

const submissionOutcomes = ['created', 'revived', 'failed', 'replayed', 'attached', 'mismatched'] as const;
const mailStatuses = ['sent', 'failed', 'unknown', 'retried'] as const;
const reasonOf = { replayed: 'answered', attached: 'in_flight', mismatched: 'mismatch' } as const;
const methods = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS']);
const microToSeconds = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];
const milliToMinute = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** What a process counts and measures. Each part of it reports here; `/metrics` shows it. */
export function createMetrics({ operations, servesApi, runsJobs }: MetricsOptions) {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  // Gauges that are named like counters: tools that check names stumble over them, and nobody needs them.
  for (const kind of ['handles', 'requests', 'resources']) registry.removeSingleMetric(`nodejs_active_${kind}_total`);
  const ofApi = servesApi ? [registry] : [];
  const ofWorker = runsJobs ? [registry] : [];
  return {
    registry,
    intake: createIntake(ofApi, operations),
    http: createHttp(ofApi),
    runs: createRuns(ofWorker, operations),
    mails: createMails(ofWorker),
    cleanup: createCleanup(ofWorker),
    outboxPublishing: new Histogram({
      name: 'outbox_publish_duration_seconds',
      help: 'Time that Redis took to accept a group of jobs, by the fast path or by the outbox relay',
      buckets: microToSeconds,
      registers: [registry],
    }),
    gauges: createGauges(registry, ofApi),
  };
}

/** Requests for operations: what they were, and how long it took to know. */
function createIntake(registers: Registry[], operations: readonly string[]) {
  const requests = new Counter({
    name: 'idempotency_requests_total',
    help: 'Requests for operations, by how they were met',
    labelNames: ['operation', 'outcome'],
    registers,
  });
  const duplicates = new Counter({
    name: 'idempotency_duplicates_total',
    help: 'Requests that repeat one before, by how that was recognised',
    labelNames: ['operation', 'reason'],
    registers,
  });
  const checks = new Histogram({
    name: 'idempotency_check_duration_seconds',
    help: 'Time until it was known whether a request is a duplicate; cache_hit: memory or Redis had its answer',
    labelNames: ['operation', 'cache_hit'],
    buckets: microToSeconds,
    registers,
  });
  const hitRate = createHitRate(registers);
  // Bound once, because replays have no time to spare for making labels.
  const known = new Map(
    operations.map((operation) => {
      const bind = (outcome: SubmissionOutcome) => {
        requests.inc({ operation, outcome }, 0);
        const reason = outcome in reasonOf ? reasonOf[outcome as keyof typeof reasonOf] : undefined;
        if (reason) duplicates.inc({ operation, reason }, 0);
        return {
          request: requests.labels(operation, outcome),
          duplicate: reason && duplicates.labels(operation, reason),
        };
      };
      const outcomes = Object.fromEntries(submissionOutcomes.map((outcome) => [outcome, bind(outcome)]));
      const hit = checks.labels(operation, 'true');
      const miss = checks.labels(operation, 'false');
      return [operation, { outcomes: outcomes as Record<SubmissionOutcome, ReturnType<typeof bind>>, hit, miss }];
    }),
  );
  return {
    hitRate,
    /** A request for an operation; a miss is an answer that a cache could have had. The time runs from `startedMs`. */
    count(operation: string, outcome: SubmissionOutcome, cache: 'hit' | 'miss' | undefined, startedMs: number): void {
      const bound = known.get(operation);
      if (!bound) return;
      const { request, duplicate } = bound.outcomes[outcome];
      request.inc();
      duplicate?.inc();
      (cache === 'hit' ? bound.hit : bound.miss).observe((performance.now() - startedMs) / 1000);
      if (cache === 'hit') hitRate.hits += 1;
      else if (cache === 'miss') hitRate.misses += 1;
    },
    /** An upload, which is recognised by more than a key. */
    countUpload(operation: string, outcome: SubmissionOutcome, reason?: DuplicateReason): void {
      if (!known.has(operation)) return;
      requests.inc({ operation, outcome });
      if (reason) duplicates.inc({ operation, reason });
    },
  };
}

/** Long enough to be steady, short enough to show that something has just changed. */
const hitRateWindowMs = 5 * 60_000;

/** Of the answers given again, the share that memory or Redis had. Costs an addition; the window moves with the scrapes. */
function createHitRate(registers: Registry[]) {
  const counts = { hits: 0, misses: 0 };
  let marks = [{ atMs: Date.now(), hits: 0, misses: 0 }];
  new Gauge({
    name: 'idempotency_cache_hit_rate',
    help: 'Of the answers given again in the last five minutes, the share from memory or Redis; NaN if there were none',
    registers,
    collect() {
      const nowMs = Date.now();
      const firstInWindow = marks.findIndex((mark) => mark.atMs >= nowMs - hitRateWindowMs);
      // One from before the window stays, for the window to begin with.
      marks = marks.slice(Math.max(0, (firstInWindow < 0 ? marks.length : firstInWindow) - 1));
      const from = marks[0] ?? counts;
      const hits = counts.hits - from.hits;
      this.set(hits / (hits + counts.misses - from.misses));
      // A scraper in a hurry must not fill the memory.
      if (nowMs - (marks.at(-1)?.atMs ?? 0) >= 1_000) marks.push({ atMs: nowMs, ...counts });
    },
  });
  return counts;
}

function createHttp(registers: Registry[]) {
  const requests = new Counter({
    name: 'http_requests_total',
    help: 'HTTP requests, by method, route pattern and status of the answer',
    labelNames: ['method', 'route', 'status'],
    registers,
  });
  const durations = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time until an answer began, waiting for results included',
    buckets: milliToMinute,
    registers,
  });
  const bound = new Map<string, Map<string, Map<number, { inc: () => void }>>>();
  return {
    count(method: string, route: string, status: number, startedMs: number): void {
      const ofRoute = entryOf(bound, route, () => new Map());
      const ofMethod = entryOf(ofRoute, methods.has(method) ? method : 'OTHER', () => new Map());
      entryOf(ofMethod, status, () =>
        requests.labels(methods.has(method) ? method : 'OTHER', route, String(status)),
      ).inc();
      durations.observe((performance.now() - startedMs) / 1000);
    },
  };
}

function createRuns(registers: Registry[], operations: readonly string[]) {
  const durations = new Histogram({
    name: 'operation_duration_seconds',
    help: 'Time that a worker had an operation in hand, by how that ended',
    labelNames: ['operation', 'outcome'],
    buckets: milliToMinute,
    registers,
  });
  const known = new Set(operations);
  return {
    observe(operation: string, outcome: RunOutcome, durationMs: number): void {
      if (known.has(operation)) durations.labels(operation, outcome).observe(durationMs / 1000);
    },
  };
}

function createMails(registers: Registry[]) {
  const mails = new Counter({
    name: 'mailing_emails_total',
    help: 'Mails of mailings whose outcome is committed; retried: put off to another attempt',
    labelNames: ['status'],
    registers,
  });
  for (const status of mailStatuses) mails.inc({ status }, 0);
  const durations = new Histogram({
    name: 'mailing_send_duration_seconds',
    help: 'Time from handing a mail over until the mail server had answered',
    buckets: milliToMinute,
    registers,
  });
  return {
    count: (status: MailStatus, count = 1) => mails.inc({ status }, count),
    observe: (durationMs: number) => durations.observe(durationMs / 1000),
  };
}

/** For whoever deletes what has expired. */
function createCleanup(registers: Registry[]) {
  const deleted = new Counter({
    name: 'idempotency_cleanup_deleted_total',
    help: 'Expired records that were deleted',
    registers,
  });
  const durations = new Histogram({
    name: 'idempotency_cleanup_duration_seconds',
    help: 'Time that a round of deleting expired records took',
    buckets: [0.01, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 600],
    registers,
  });
  const failures = new Counter({
    name: 'idempotency_cleanup_failures_total',
    help: 'Rounds of deleting expired records that failed',
    registers,
  });
  return {
    countDeleted: (count: number) => deleted.inc(count),
    observeRound: (durationMs: number) => durations.observe(durationMs / 1000),
    countFailure: () => failures.inc(),
  };
}

/** What is true of the stores and not of one process. Every API process shows the same, so take the max of them. */
function createGauges(registry: Registry, registers: Registry[]) {
  const gauge = <T extends string>(name: string, help: string, labelNames: T[] = []) =>
    new Gauge<T>({ name, help, labelNames, registers });
  return {
    storeUp: new Gauge({
      name: 'store_up',
      help: 'Whether the store answered at the last look: 1 or 0',
      labelNames: ['store'],
      registers: [registry],
    }),
    records: gauge('idempotency_records', 'Records by status; beyond 16 MiB of them an estimate from a sample', [
      'status',
    ]),
    stuck: gauge('idempotency_stuck_records', 'Unfinished records that nothing has happened to for 30 minutes'),
    deadLetters: gauge('dead_letters', 'Operations and mails that were given up and wait for a person'),
    outboxPending: gauge('outbox_pending', 'Jobs in the outbox that are not yet known to be in Redis'),
    outboxQuarantined: gauge('outbox_quarantined', 'Jobs in the outbox that Redis refused again and again'),
    outboxLag: gauge('outbox_lag_seconds', 'How long the oldest pending job of the outbox has been due'),
    queueJobs: gauge('queue_jobs', 'Jobs by queue and state', ['queue', 'state']),
    queueWorkers: gauge('queue_workers', 'Worker processes connected to the queue', ['queue']),
    queueOldestWaiting: gauge('queue_oldest_waiting_seconds', 'How long the oldest waiting job waits', ['queue']),
    ledgerImbalance: gauge('invariant_ledger_imbalance', 'Accounts, operations and movements that do not add up'),
    unfinishedWithoutJob: gauge(
      'invariant_unfinished_without_job',
      'Unfinished records that nothing will bring to an end',
    ),
    entriesSentTwice: gauge(
      'invariant_entries_sent_twice',
      'Entries of mailings that are known to have been sent twice',
    ),
    invariantAge: gauge('invariant_check_age_seconds', 'Time since an invariant was last checked', ['invariant']),
  };
}

export type StoreGauges = Metrics['gauges'];

function entryOf<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}
