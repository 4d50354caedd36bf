/** What the baseline of `ingest` is asked: to copy the entries of this file into the table. */
export interface CopyPlan {
  readonly databaseUrl: string;
  readonly table: string;
  readonly prefix: string;
  readonly rows: number;
}

/** What the baseline of `sending` is asked: to send the mails of this list. */
export interface PoolPlan {
  readonly mailUrl: string;
  readonly prefix: string;
  readonly mails: number;
  readonly connections: number;
}

export interface Timed {
  readonly count: number;
  readonly tookMs: number;
}

/** The sink forgets what it saw, or tells it. */
export interface SinkQuestion {
  readonly ask: 'forget' | 'count' | 'port';
}

export interface SinkCount {
  readonly port: number;
  readonly mails: number;
  /** Different Message-IDs. */
  readonly ids: number;
}
