/** What the generator is asked to send. Every request moves one unit between two of the accounts. */
export interface LoadPlan {
  readonly port: number;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly accounts: readonly string[];
  readonly keyPrefix: string;
  /** `fresh`: a new key each time. `once`: `keyCount` keys, then the end. `repeat`: those keys over and over. */
  readonly keys: 'fresh' | 'once' | 'repeat';
  readonly keyCount: number;
  readonly connections: number;
  readonly warmupMs: number;
  readonly measureMs: number;
}

export interface LoadResult {
  /** Answers within the measured time, per second. */
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** How many answers of each status came in all, warm-up included. */
  readonly statuses: Readonly<Record<string, number>>;
}

export type GeneratorAnswer = { readonly result: LoadResult } | { readonly error: string };
