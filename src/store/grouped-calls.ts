export interface GroupedCallsOptions<In, Out> {
  /** Handles a group; its results are in the order of the items. */
  run: (items: In[]) => Promise<Out[]>;
  maxGroupSize: number;
  /** How much of a group an item is; 1 unless given. An item that is larger than a group is one by itself. */
  sizeOf?: (item: In) => number;
  /** How many groups may be under way at once. */
  concurrency: number;
  /** Whether a failure may be the fault of one item. Then each item of the group is run alone. */
  mayBlameOneItem?: (error: unknown) => boolean;
}

interface Waiting<In, Out> {
  item: In;
  resolve: (result: Out) => void;
  reject: (error: unknown) => void;
}

/**
 * Turns single calls into group calls: what arrives while a group is under way goes together in the next one.
 * At low load a call starts at the end of the current turn of the event loop, so nothing waits for a timer.
 */
export class GroupedCalls<In, Out> {
  readonly #options: GroupedCallsOptions<In, Out>;
  #waiting: Waiting<In, Out>[] = [];
  #running = 0;
  #scheduled = false;

  constructor(options: GroupedCallsOptions<In, Out>) {
    this.#options = options;
  }

  call(item: In): Promise<Out> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#scheduled || this.#waiting.length === 0 || this.#running >= this.#options.concurrency) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      void this.#runGroup(this.#waiting.splice(0, this.#countNext()));
      this.#schedule();
    });
  }

  #countNext(): number {
    const { sizeOf, maxGroupSize } = this.#options;
    if (!sizeOf) return maxGroupSize;
    let [count, size] = [0, 0];
    for (const { item } of this.#waiting) {
      size += sizeOf(item);
      if (count > 0 && size > maxGroupSize) break;
      count += 1;
    }
    return count;
  }

  async #runGroup(group: Waiting<In, Out>[]): Promise<void> {
    this.#running += 1;
    try {
      await this.#settleGroup(group);
    } finally {
      this.#running -= 1;
      this.#schedule();
    }
  }

  async #settleGroup(group: Waiting<In, Out>[]): Promise<void> {
    try {
      const results = await this.#options.run(group.map((waiting) => waiting.item));
      group.forEach((waiting, index) => {
        waiting.resolve(results[index] as Out);
      });
    } catch (error) {
      if (group.length > 1 && this.#options.mayBlameOneItem?.(error)) {
        await Promise.all(group.map((waiting) => this.#settleGroup([waiting])));
      } else {
        for (const waiting of group) waiting.reject(error);
      }
    }
  }
}
