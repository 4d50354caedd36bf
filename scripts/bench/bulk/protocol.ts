/** What the baseline of `bulk` is asked: to add so many jobs. */
export interface AddPlan {
  readonly redisUrl: string;
  readonly accounts: readonly string[];
  readonly rows: number;
}
