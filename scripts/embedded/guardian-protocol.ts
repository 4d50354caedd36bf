export interface GuardianOptions {
  /** Holds `postgres/`, `redis/` and their logs. */
  readonly dir: string;
  /** The folder is deleted at the end, whatever that end is. */
  readonly ephemeral: boolean;
  readonly postgres?: { readonly fsync: boolean };
  readonly redis?: { readonly persistent: boolean };
}

/** What the guardian writes to its stdout, a line each. */
export type GuardianMessage =
  | {
      readonly type: 'ready';
      readonly databaseUrl?: string;
      readonly redisUrl?: string;
      readonly pids: readonly number[];
    }
  | { readonly type: 'error'; readonly message: string };
