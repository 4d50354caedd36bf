import type { z } from 'zod';
import type { ErrorCode } from '../errors.ts';
import type { Database, DatabaseTransaction } from '../store/database.ts';
import type { RecordRow } from '../store/records.ts';
import type { ProcessOutcome } from './outcomes.ts';

/** Printable ASCII, which is what a structured-field string can carry. */
export const printableKey = /^[\x20-\x7e]{1,255}$/;
export const strictKey = /^[A-Za-z0-9_-]{10,64}$/;

export interface ProcessContext {
  /** The transaction in which the record is settled: what is written through it commits with the outcome or not at all. */
  tx: DatabaseTransaction;
  record: RecordRow;
  /** Aborted when the lock is lost: another worker may be at work by now. */
  signal: AbortSignal;
}

/** What a call to another system is given. No transaction is open meanwhile, so it may take its time. */
export interface ExternalContext {
  record: RecordRow;
  /** The same in every attempt. Give it to the other system, so that it can recognise a call that is made again. */
  effectKey: string;
  /** Aborted when the lock is lost: another worker may be at work by now. */
  signal: AbortSignal;
}

export interface RecordGroup {
  ids: readonly string[];
  actor: string;
  ttlSeconds: number;
}

/** What an operation may ask of the API process that takes its requests and answers for it. */
export interface OperationHost {
  /** Throws unless webhooks may be sent to the URL. */
  checkWebhookUrl: (url: string) => Promise<void>;
  webhookSecretOf: (webhookId: string, version: number) => string;
}

interface OperationBase<Request, Code extends ErrorCode> {
  name: string;
  request: z.ZodType<Request>;
  /** What a success looks like to the client, for the API's description. */
  success?: { status: number; body: z.ZodType };
  /** The codes with which `process` may reject: another one does not compile. */
  rejects?: readonly Code[];
  /** The codes with which `admit` may refuse. */
  admitRejects?: readonly ErrorCode[];
  key: { required: boolean; pattern: RegExp };
  /** Another request under a used key: refuse it, or answer with the original and say so. */
  onMismatch: 'reject' | 'replay';
  /** What a replay returns: the stored answer, or the resource as it is now, read by its id. */
  replay: 'stored' | ((db: Database, resourceId: string) => Promise<unknown>);
  /** Asked before a new request is taken. It throws to refuse it, and then nothing is stored and the key stays free. */
  admit?: (request: Request, host: OperationHost) => Promise<void>;
  /** Adds to each answer what must not be stored: a pure function of the stored body, so that replays stay the same. */
  present?: (body: unknown, host: OperationHost) => unknown;
  /** Names of what must not be worked on twice at a time, besides the record itself. */
  lock?: (request: Request) => readonly string[];
  /** Pauses before attempts 2, 3, …; the configured ones unless given. */
  retryDelaysMs?: readonly number[];
  /** How long a settled key answers; the configured time unless given. */
  recordTtlSeconds?: number;
}

/** Work in TypeScript, in a transaction of its own. */
interface SingleOperation<Request, Code extends ErrorCode> extends OperationBase<Request, Code> {
  process: (request: Request, context: ProcessContext) => Promise<ProcessOutcome<NoInfer<Code>>>;
  /** `with-effect`: the claim commits with the outcome (short work). `first`: it commits before `process` begins (long work). */
  claim?: 'with-effect' | 'first';
  external?: undefined;
}

/** Work whose effect leaves the house. The attempt is committed before `process` begins, and its outcome after it. */
export interface ExternalOperation<Request, Code extends ErrorCode = ErrorCode> extends OperationBase<Request, Code> {
  /**
   * When nobody can tell whether the effect happened. `at-most-once`: the record is UNKNOWN until a person says.
   * `at-least-once`: `process` runs again with the same `effectKey`, for systems that recognise it.
   */
  external: 'at-most-once' | 'at-least-once';
  claim: 'first';
  /** Throws NothingHappened if that is certain. After any other error the effect is in doubt. */
  process: (request: Request, context: ExternalContext) => Promise<ProcessOutcome<NoInfer<Code>>>;
}

/** Work in SQL that claims, applies and finishes a whole group of records in one round trip. */
interface GroupOperation<Request, Code extends ErrorCode> extends OperationBase<Request, Code> {
  processGroup: (db: Database, group: RecordGroup) => Promise<RecordRow[]>;
  external?: undefined;
}

export type Operation<Request = unknown, Code extends ErrorCode = ErrorCode> =
  | SingleOperation<Request, Code>
  | ExternalOperation<Request, Code>
  | GroupOperation<Request, Code>;

/** The registry holds operations of every request type; their requests are parsed before they are used. */
// biome-ignore lint/suspicious/noExplicitAny: the request type is only known inside the operation's own file.
export type AnyOperation = Operation<any>;

export function defineOperation<Request, const Code extends ErrorCode = never>(
  operation: Operation<Request, Code>,
): Operation<Request, Code> {
  return operation;
}
