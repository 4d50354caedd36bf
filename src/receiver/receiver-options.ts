import type { DedupKey, DedupStore } from './dedup-store.ts';
import type { IdOf } from './id-extractors.ts';

/** What a handler gets besides the message. */
export interface HandlerContext {
  /** What stands for the message, e.g. to hand it on to a provider that recognises duplicates itself. */
  readonly id: string | undefined;
  /** Aborted when another delivery has taken the message over. */
  readonly signal: AbortSignal;
}

/** Something after which the same message may be handled twice. */
export interface Risk {
  /** The handler ran although the store was away; or what it did could not be recorded afterwards. */
  readonly kind: 'delivered-without-store' | 'result-not-recorded';
  readonly key: DedupKey;
  readonly error: unknown;
}

export interface ReceiverLog {
  warn(fields: object, message: string): void;
}

export interface ReceiverOptions<Message, Result> {
  store: DedupStore;
  /** Its result has to be JSON: what everyone gets is what was stored. */
  handler: (message: Message, context: HandlerContext) => Result | Promise<Result>;
  idOf: IdOf<Message>;
  /** The consumer group. Each handles every message once. */
  namespace?: string;
  /** 'refuse', the default, throws StoreAwayError. 'deliver' runs the handler, which may then happen twice. */
  whenStoreIsAway?: 'refuse' | 'deliver';
  /** 'refuse', the default, throws MissingIdError. 'deliver' runs the handler each time. */
  whenIdIsMissing?: 'refuse' | 'deliver';
  /** How long the store may take before it counts as away. */
  storeTimeoutMs?: number;
  /** Called for each risk, e.g. to count it in a metric. */
  onRisk?: (risk: Risk) => void;
  /** A logger such as pino's. Without one, warnings are warnings of the process. */
  log?: ReceiverLog;
}

export interface Receipt<Result> {
  readonly result: Result;
  /** True: the handler was not run, because an earlier delivery had its result. */
  readonly duplicate: boolean;
  /** False: the next delivery of this message will not be recognised. */
  readonly recorded: boolean;
}

export const processWarnings: ReceiverLog = {
  warn: (_fields, message) => process.emitWarning(message, 'SemelReceiverWarning'),
};
