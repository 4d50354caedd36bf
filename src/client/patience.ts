import { setTimeout as sleep } from 'node:timers/promises';

/** The first pause is short, because most trouble is; none is longer than this. */
const firstPauseMs = 100;
const longestPauseMs = 5_000;

/** How long a call goes on trying: until its time is up or its caller has had enough. */
export class Patience {
  readonly #deadlineMs: number;
  readonly #signal: AbortSignal | undefined;
  #tries = 0;

  constructor(timeoutMs: number, signal: AbortSignal | undefined) {
    this.#deadlineMs = performance.now() + timeoutMs;
    this.#signal = signal;
  }

  get leftMs(): number {
    return Math.max(0, this.#deadlineMs - performance.now());
  }

  /** Ends a single try: with the caller's signal, and after `ms` or what is left, whichever is less. */
  signalFor(ms: number): AbortSignal {
    const timer = AbortSignal.timeout(Math.ceil(Math.min(ms, this.leftMs)));
    return this.#signal ? AbortSignal.any([this.#signal, timer]) : timer;
  }

  /** A random pause that grows with each try, or what the service asks for. False if the time will be up by then. */
  async pause(retryAfterSeconds = 0): Promise<boolean> {
    const ceilingMs = Math.min(longestPauseMs, firstPauseMs * 2 ** this.#tries);
    this.#tries += 1;
    // Anywhere below the ceiling: clients that failed together do not come back together.
    const pauseMs = retryAfterSeconds * 1000 + Math.random() * ceilingMs;
    if (pauseMs >= this.leftMs) return false;
    await sleep(pauseMs, undefined, this.#signal ? { signal: this.#signal } : {});
    return true;
  }

  /** What went before went well. */
  renew(): void {
    this.#tries = 0;
  }
}
