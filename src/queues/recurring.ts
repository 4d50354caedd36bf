import type { Logger } from 'pino';

/** Runs a task again and again with a pause in between, never twice at once. A failure is logged and the next round comes. */
export class Recurring {
  #timer: NodeJS.Timeout | undefined;
  #current: Promise<void> | undefined;
  #stopped = false;
  readonly #name: string;
  readonly #pauseMs: number;
  readonly #task: () => Promise<unknown>;
  readonly #log: Logger;

  constructor(options: { name: string; pauseMs: number; task: () => Promise<unknown>; log: Logger }) {
    this.#name = options.name;
    this.#pauseMs = options.pauseMs;
    this.#task = options.task;
    this.#log = options.log;
    this.#plan();
  }

  /** Does not wait for the pause to end, unless a round is under way. */
  wake(): void {
    if (this.#timer === undefined || this.#stopped) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#current = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#current;
  }

  #plan(): void {
    if (this.#stopped) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#current = this.#run();
    }, this.#pauseMs);
  }

  async #run(): Promise<void> {
    try {
      await this.#task();
    } catch (error) {
      this.#log.warn({ err: error, task: this.#name }, 'a recurring task failed');
    }
    this.#plan();
  }
}
