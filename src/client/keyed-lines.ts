import { randomUUID } from 'node:crypto';
import type { BulkLine } from './bulk.ts';
import { SemelError } from './semel-error.ts';

interface KeyedLine {
  line: number;
  key: string;
  text: string;
}

/** So many lines are on their way at most. It bounds what is held, and what is sent again after a broken connection. */
const maxUnanswered = 2_000;

/** Lines with their numbers and keys. It remembers those that have no outcome yet, for the next connection. */
export class KeyedLines {
  readonly #source: AsyncIterator<BulkLine> | Iterator<BulkLine>;
  #unanswered: KeyedLine[] = [];
  #answered = 0;
  #taken = 0;
  #isExhausted = false;
  #failure: { error: unknown } | undefined;
  /** One at a time, also while the stream of a broken connection is still waiting. */
  #taking: Promise<void> | undefined;
  #waitingForRoom: (() => void)[] = [];

  constructor(source: AsyncIterable<BulkLine> | Iterable<BulkLine>) {
    this.#source = Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]();
  }

  get isDone(): boolean {
    return this.#isExhausted && this.#unanswered.length === 0;
  }

  /** Whoever gives the lines has failed, which no other connection mends. */
  throwIfFailed(): void {
    if (this.#failure) throw this.#failure.error;
  }

  /** The line that the next outcome belongs to. */
  acknowledge(): KeyedLine {
    const line = this.#unanswered.shift();
    if (!line) throw new SemelError('UNREADABLE_ANSWER', 'more answers came than lines were sent');
    this.#answered += 1;
    for (const goOn of this.#waitingForRoom.splice(0)) goOn();
    return line;
  }

  async close(): Promise<void> {
    await this.#source.return?.();
  }

  /** Everything without an outcome, for one connection, as fast as it takes it. */
  toStream(): ReadableStream<Uint8Array> {
    const encoder = new TextEncoder();
    let next = this.#answered + 1;
    return new ReadableStream({
      pull: async (controller) => {
        const line = await this.#lineAt(next);
        next += 1;
        if (line) controller.enqueue(encoder.encode(`${line.text}\n`));
        else controller.close();
      },
    });
  }

  async #lineAt(number: number): Promise<KeyedLine | undefined> {
    while (number - this.#answered > maxUnanswered) {
      await new Promise<void>((resolve) => this.#waitingForRoom.push(resolve));
    }
    while (number > this.#taken && !this.#isExhausted) {
      this.#taking ??= this.#take().finally(() => {
        this.#taking = undefined;
      });
      await this.#taking;
    }
    return this.#unanswered[number - this.#answered - 1];
  }

  async #take(): Promise<void> {
    try {
      const { done, value } = await this.#source.next();
      if (done) {
        this.#isExhausted = true;
        return;
      }
      this.#taken += 1;
      const { operation, key = randomUUID(), request } = value;
      this.#unanswered.push({ line: this.#taken, key, text: JSON.stringify({ operation, key, request }) });
    } catch (error) {
      this.#failure = { error };
      throw error;
    }
  }
}
