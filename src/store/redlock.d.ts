/** The package ships types, but its export map does not lead to them. Only what locks.ts uses is declared. */
declare module 'redlock' {
  import { EventEmitter } from 'node:events';

  export interface Lock {
    readonly expiration: number;
    release(): Promise<unknown>;
    extend(durationMs: number): Promise<Lock>;
  }

  export class ResourceLockedError extends Error {}

  export class ExecutionError extends Error {
    readonly attempts: readonly Promise<{ readonly votesAgainst: ReadonlyMap<unknown, Error> }>[];
  }

  // biome-ignore lint/style/noDefaultExport: this is how the package exports it.
  export default class Redlock extends EventEmitter {
    constructor(clients: Iterable<unknown>, settings?: { retryCount?: number; driftFactor?: number });
    acquire(resources: string[], durationMs: number): Promise<Lock>;
  }
}
