import { randomUUID } from 'node:crypto';
import type { DedupKey } from './dedup-store.ts';
import { InFlightElsewhereError, LeaseLostError, MissingIdError, StoreAwayError } from './errors.ts';
import { LeaseKeeper } from './lease-keeper.ts';
import type { Receipt, ReceiverOptions } from './receiver-options.ts';
import { RiskReporter } from './risk-reporter.ts';
import { checkNamespace, storableIdOf, toIdText } from './storable-id.ts';
import { decodeResult, encodeResult } from './stored-result.ts';
import { TimedStore } from './timed-store.ts';

/** Runs a handler once for each message, however often and wherever the message is delivered. */
export class IdempotentReceiver<Message, Result> {
  readonly #options: ReceiverOptions<Message, Result>;
  readonly #namespace: string;
  readonly #store: TimedStore;
  readonly #risks: RiskReporter;

  constructor(options: ReceiverOptions<Message, Result>) {
    this.#options = options;
    this.#namespace = checkNamespace(options.namespace ?? 'default');
    this.#store = new TimedStore(options.store, options.storeTimeoutMs);
    this.#risks = new RiskReporter(options);
  }

  /** How often a message may have been handled twice, since this receiver was made. */
  get riskCount(): number {
    return this.#risks.count;
  }

  async receive(message: Message): Promise<Receipt<Result>> {
    const id = toIdText(this.#options.idOf(message));
    if (id === undefined) return await this.#receiveWithoutId(message);
    const key = { namespace: this.#namespace, id: storableIdOf(id) };
    const token = randomUUID();
    const taken = await this.#take(key, token);
    if (taken === undefined) return await this.#runUnrecorded(message, key.id);
    if (taken.state === 'in-flight') throw new InFlightElsewhereError(key, taken.freeInMs);
    if (taken.state === 'done') return this.#receipt(taken.result, { duplicate: true, recorded: true });
    return await this.#runTaken(message, key, token);
  }

  async #receiveWithoutId(message: Message): Promise<Receipt<Result>> {
    if (this.#options.whenIdIsMissing === 'deliver') return await this.#runUnrecorded(message, undefined);
    throw new MissingIdError('The message has no id.');
  }

  /** Undefined if the store is away and the message is to be delivered all the same. */
  async #take(key: DedupKey, token: string) {
    const deliver = this.#options.whenStoreIsAway === 'deliver';
    try {
      return await this.#store.take(key, token, { releaseIfLate: !deliver });
    } catch (error) {
      if (!deliver) throw new StoreAwayError(key, { handlerRan: false, cause: error });
      this.#risks.report({ kind: 'delivered-without-store', key, error });
      return undefined;
    }
  }

  async #runUnrecorded(message: Message, id: string | undefined): Promise<Receipt<Result>> {
    const result = await this.#options.handler(message, { id, signal: new AbortController().signal });
    return this.#receipt(this.#encode(result), { duplicate: false, recorded: false });
  }

  async #runTaken(message: Message, key: DedupKey, token: string): Promise<Receipt<Result>> {
    const keeper = new LeaseKeeper({
      leaseMs: this.#options.store.leaseMs,
      renew: async () => (await this.#store.take(key, token)).state === 'taken',
      onLost: () => new LeaseLostError(key),
      onError: (error) => this.#risks.warn({ key, error }, `The lease of message ${key.id} could not be prolonged.`),
    });
    let result: Result;
    try {
      result = await this.#options.handler(message, { id: key.id, signal: keeper.signal });
    } catch (error) {
      await keeper.stop();
      await this.#release(key, token);
      throw error;
    }
    await keeper.stop();
    const text = this.#encode(result);
    return this.#receipt(text, { duplicate: false, recorded: await this.#finish(key, token, text) });
  }

  /** A store that is away makes the id free, too: at the end of the lease. The handler's error counts for more. */
  async #release(key: DedupKey, token: string): Promise<void> {
    try {
      await this.#store.release(key, token);
    } catch (error) {
      this.#risks.warn({ key, error }, `Message ${key.id} stays in flight until the end of its lease.`);
    }
  }

  async #finish(key: DedupKey, token: string, text: string): Promise<boolean> {
    let kept: boolean;
    try {
      kept = await this.#store.finish(key, token, text);
    } catch (error) {
      this.#risks.report({ kind: 'result-not-recorded', key, error });
      if (this.#options.whenStoreIsAway === 'deliver') return false;
      throw new StoreAwayError(key, { handlerRan: true, cause: error });
    }
    if (!kept) throw new LeaseLostError(key);
    return true;
  }

  #encode(result: Result): string {
    return encodeResult(result, this.#options.store.maxResultBytes);
  }

  #receipt(text: string, facts: { duplicate: boolean; recorded: boolean }): Receipt<Result> {
    return { result: decodeResult(text) as Result, ...facts };
  }
}
