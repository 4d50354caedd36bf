export const mebibyte = 1024 * 1024;

/** Chunks as they come from a socket: many, and of no round size. */
export async function* chunksOf(content: Buffer, chunkBytes = 65_521): AsyncGenerator<Buffer> {
  for (let start = 0; start < content.byteLength; start += chunkBytes) {
    yield content.subarray(start, start + chunkBytes);
  }
}

export interface PausedSource {
  chunks: AsyncIterable<Buffer>;
  /** Resolves once all that comes before the pause was taken. */
  paused: Promise<void>;
  /** Goes on to the end, or fails. */
  goOn: (failure?: Error) => void;
}

/** Yields the beginning and then waits. */
export function pauseAfter(bytes: number, content: Buffer): PausedSource {
  let reach = (): void => undefined;
  const paused = new Promise<void>((resolve) => {
    reach = resolve;
  });
  let goOn: PausedSource['goOn'] = () => undefined;
  const resumed = new Promise<void>((resolve, reject) => {
    goOn = (failure) => (failure ? reject(failure) : resolve());
  });
  // A failure may be ordered before the source has come to its pause.
  resumed.catch(() => undefined);
  async function* yieldAll(): AsyncGenerator<Buffer> {
    yield* chunksOf(content.subarray(0, bytes));
    reach();
    await resumed;
    yield* chunksOf(content.subarray(bytes));
  }
  return { chunks: yieldAll(), paused, goOn };
}
