import { setImmediate } from 'node:timers/promises';
import { type DedupStore, LruDedupStore } from '../../src/index.ts';

type Method = 'take' | 'finish' | 'release';

/** A store of which any method can be made to fail, or to hang until it is mended. */
export class BrokenStore implements DedupStore {
  readonly leaseMs: number;
  readonly maxResultBytes: number;
  readonly #store: LruDedupStore;
  readonly #faults = new Map<Method, { fault: 'fail' | 'hang'; times: number }>();
  #waiting: (() => void)[] = [];

  constructor(options: { leaseMs?: number } = {}) {
    this.#store = new LruDedupStore(options);
    this.leaseMs = this.#store.leaseMs;
    this.maxResultBytes = this.#store.maxResultBytes;
  }

  break(method: Method, fault: 'fail' | 'hang' = 'fail', times = Number.POSITIVE_INFINITY): void {
    this.#faults.set(method, { fault, times });
  }

  /** Resolves when what was hanging has come through. */
  async mend(): Promise<void> {
    this.#faults.clear();
    for (const goOn of this.#waiting.splice(0)) goOn();
    await setImmediate();
  }

  async take(...args: Parameters<DedupStore['take']>) {
    await this.#meetFault('take');
    return await this.#store.take(...args);
  }

  async finish(...args: Parameters<DedupStore['finish']>) {
    await this.#meetFault('finish');
    return await this.#store.finish(...args);
  }

  async release(...args: Parameters<DedupStore['release']>) {
    await this.#meetFault('release');
    await this.#store.release(...args);
  }

  async removeExpired(): Promise<number> {
    return await this.#store.removeExpired();
  }

  async #meetFault(method: Method): Promise<void> {
    const broken = this.#faults.get(method);
    if (!broken || broken.times === 0) return;
    broken.times -= 1;
    if (broken.fault === 'fail') throw new Error('the wire is cut');
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }
}
