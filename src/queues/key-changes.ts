import type { Logger } from 'pino';
import type { RedisClient } from '../store/redis.ts';

/**
 * Tells every API process at once that a key was revoked. It only saves time: what a process remembers of a key, it
 * remembers for seconds.
 */
export class KeyChanges {
  readonly #redis: RedisClient;
  readonly #channel: string;
  readonly #log: Logger;
  readonly #listeners: (() => void)[] = [];

  constructor(parts: { redis: RedisClient; subscriber: RedisClient; prefix: string; log: Logger }) {
    this.#redis = parts.redis;
    this.#channel = `${parts.prefix}:keys-changed`;
    this.#log = parts.log;
    parts.subscriber.on('message', (channel: string) => {
      if (channel === this.#channel) for (const listener of this.#listeners) listener();
    });
    parts.subscriber.subscribe(this.#channel).catch((error: unknown) => this.#warn(error));
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  async announce(): Promise<void> {
    for (const listener of this.#listeners) listener();
    await this.#redis.publish(this.#channel, 'changed').catch((error: unknown) => this.#warn(error));
  }

  #warn(error: unknown): void {
    this.#log.warn({ err: error }, 'changes of API keys take seconds instead of no time');
  }
}
