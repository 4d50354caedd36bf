import type { Logger } from 'pino';
import type { DedupStore } from '../receiver/dedup-store.ts';
import { IdempotentReceiver } from '../receiver/idempotent-receiver.ts';
import type { EventRow } from '../store/events.ts';
import type { Consumer } from './notification-worker.ts';

export interface ConsumerStores {
  redis: DedupStore;
  postgres: DedupStore;
  log: Logger;
}

/**
 * Each event once for each group. Redis answers for what was seen lately; it may be away, because Postgres has the
 * last word and refuses to guess.
 */
export function deduplicate(consumer: Consumer, { redis, postgres, log }: ConsumerStores): Consumer {
  const shared = { namespace: `consumer/${consumer.group}`, idOf: (event: EventRow) => event.id, log };
  const lasting = new IdempotentReceiver<EventRow, null>({
    ...shared,
    store: postgres,
    handler: async (event) => {
      await consumer.consume(event);
      return null;
    },
  });
  const quick = new IdempotentReceiver<EventRow, null>({
    ...shared,
    store: redis,
    whenStoreIsAway: 'deliver',
    handler: async (event) => (await lasting.receive(event)).result,
  });
  return { group: consumer.group, consume: (event) => quick.receive(event) };
}
