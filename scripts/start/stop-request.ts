import { once } from 'node:events';

export interface StopRequest {
  /** Aborted when a person or a supervisor asks for the end. */
  readonly asked: AbortSignal;
  /** Aborted when they ask again, because it takes them too long. */
  readonly insisted: AbortSignal;
}

// One Ctrl-C arrives up to three times: from the terminal, from npm and from bootstrap. A person who insists is slower.
const sameKeypressMs = 1_000;

export function listenForStop(): StopRequest {
  const asked = new AbortController();
  const insisted = new AbortController();
  let firstAt = 0;
  const onSignal = (): void => {
    if (!asked.signal.aborted) {
      firstAt = performance.now();
      asked.abort();
    } else if (performance.now() - firstAt > sameKeypressMs) {
      insisted.abort();
    }
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal);
  return { asked: asked.signal, insisted: insisted.signal };
}

export async function whenAborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
}
