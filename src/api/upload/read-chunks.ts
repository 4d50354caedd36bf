import type { IncomingMessage } from 'node:http';
import { AppError } from '../../errors.ts';

export interface ReadOptions {
  /** A body whose next bytes do not come within this time is given up. */
  stallTimeoutMs: number;
  /** Nothing is read after it. */
  signal?: AbortSignal;
}

/** The client is silent: nothing more is expected of it. */
export class StalledError extends AppError {
  constructor() {
    super('INVALID_REQUEST', 'The upload stalled.');
  }
}

/**
 * The chunks of a body as they arrive. Only the client's silence is measured, not the time that we need for a chunk.
 * Unlike a stream's own iterator, it leaves the request open when it is left early: the client is to get its answer.
 */
export async function* readChunks(incoming: IncomingMessage, options: ReadOptions): AsyncGenerator<Uint8Array> {
  for (;;) {
    const chunk = incoming.read() as Buffer | null;
    if (chunk !== null) {
      // Somebody who sends without a pause leaves nothing to wait for.
      options.signal?.throwIfAborted();
      yield chunk;
    } else if (incoming.readableEnded) return;
    else await waitForMore(incoming, options);
  }
}

function waitForMore(incoming: IncomingMessage, { stallTimeoutMs, signal }: ReadOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (error?: unknown) => {
      clearTimeout(timer);
      incoming.off('readable', goOn).off('end', goOn).off('close', endEarly);
      signal?.removeEventListener('abort', leave);
      if (error === undefined) resolve();
      else reject(error);
    };
    const goOn = () => settle();
    const endEarly = () => settle(new AppError('INVALID_REQUEST', 'The upload ended too early.'));
    const leave = () => settle(signal?.reason);
    const timer = setTimeout(() => settle(new StalledError()), stallTimeoutMs);
    incoming.on('readable', goOn).on('end', goOn).on('close', endEarly);
    signal?.addEventListener('abort', leave);
    if (signal?.aborted) leave();
    // Its close may have been announced before anybody listened.
    else if (incoming.destroyed) endEarly();
  });
}
