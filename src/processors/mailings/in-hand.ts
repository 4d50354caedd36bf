/** A wake-up call that is not lost when nobody waits at the moment. */
export class WakeUp {
  #isCalled = false;
  #wake: (() => void) | undefined;

  call(): void {
    this.#isCalled = true;
    this.#wake?.();
  }

  /** Resolves at the next call, or when the time is up. */
  async wait(timeoutMs?: number): Promise<void> {
    if (!this.#isCalled) {
      let timer: NodeJS.Timeout | undefined;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        if (timeoutMs !== undefined) timer = setTimeout(resolve, timeoutMs);
      });
      clearTimeout(timer);
      this.#wake = undefined;
    }
    this.#isCalled = false;
  }
}

/**
 * How many entries a process may have claimed and not yet settled. A crash leaves so many in doubt at most, so it is
 * no more than keeps the connections busy.
 */
export class InHand {
  readonly limit: number;
  #taken = 0;
  readonly #waiting = new Set<WakeUp>();

  constructor(limit: number) {
    this.limit = limit;
  }

  get free(): number {
    return this.limit - this.#taken;
  }

  /** So many are worth a step of their own: a quarter, which leaves the others time to be answered meanwhile. */
  get groupSize(): number {
    return Math.ceil(this.limit / 4);
  }

  /** What each batch may keep while there are others beside it. */
  get share(): number {
    return Math.ceil(this.limit / Math.max(1, this.#waiting.size));
  }

  /** Up to as many free places as wanted, maybe none. */
  take(wanted: number): number {
    const count = Math.max(0, Math.min(wanted, this.free));
    this.#taken += count;
    return count;
  }

  release(count: number): void {
    this.#taken -= count;
    for (const wakeUp of this.#waiting) wakeUp.call();
  }

  /** Calls whenever there may be room. Returns how to end that. */
  watch(wakeUp: WakeUp): () => void {
    this.#waiting.add(wakeUp);
    return () => this.#waiting.delete(wakeUp);
  }
}
