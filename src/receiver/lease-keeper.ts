export interface LeaseKeeperOptions {
  leaseMs: number;
  /** Holds the message for another lease. False if somebody else has it. */
  renew: () => Promise<boolean>;
  onLost: () => Error;
  onError: (error: unknown) => void;
}

/** Prolongs a lease for as long as the work goes on; aborts its signal when the lease is lost. */
export class LeaseKeeper {
  readonly #options: LeaseKeeperOptions;
  readonly #lost = new AbortController();
  readonly #timer: NodeJS.Timeout;
  #renewal: Promise<void> | undefined;

  constructor(options: LeaseKeeperOptions) {
    this.#options = options;
    // Two renewals may fail before the lease ends.
    this.#timer = setInterval(() => this.#start(), Math.max(1, Math.floor(options.leaseMs / 3)));
    // Whoever waits for the work keeps the process alive, not this.
    this.#timer.unref();
  }

  get signal(): AbortSignal {
    return this.#lost.signal;
  }

  /** Resolves when no renewal is under way, lest a late one takes what was released. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#renewal;
  }

  #start(): void {
    this.#renewal ??= this.#renew().finally(() => {
      this.#renewal = undefined;
    });
  }

  async #renew(): Promise<void> {
    try {
      if (await this.#options.renew()) return;
      clearInterval(this.#timer);
      this.#lost.abort(this.#options.onLost());
    } catch (error) {
      this.#options.onError(error);
    }
  }
}
