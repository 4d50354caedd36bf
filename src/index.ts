export type { DedupKey, DedupStore, DedupStoreOptions, Taken } from './receiver/dedup-store.ts';
export {
  InFlightElsewhereError,
  LeaseLostError,
  MissingIdError,
  ReceiverError,
  StoreAwayError,
  UnstorableResultError,
} from './receiver/errors.ts';
export { clientKey, composite, contentHash, type IdOf, producerId } from './receiver/id-extractors.ts';
export { IdempotentReceiver } from './receiver/idempotent-receiver.ts';
export { LruDedupStore, type LruDedupStoreOptions } from './receiver/lru-dedup-store.ts';
export { PostgresDedupStore, type PostgresDedupStoreOptions } from './receiver/postgres-dedup-store.ts';
export type { HandlerContext, Receipt, ReceiverLog, ReceiverOptions, Risk } from './receiver/receiver-options.ts';
export { RedisDedupStore, type RedisDedupStoreOptions } from './receiver/redis-dedup-store.ts';
export { TransactionalReceiver, type TransactionalReceiverOptions } from './receiver/transactional-receiver.ts';
