export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

export interface SemelApi {
  send(path: string, request?: { body?: object | FormData; key?: string; prefer?: string }): Promise<Answer>;
  /** The same, for what has to succeed; returns the parsed body. */
  ask<T>(path: string, request?: { body?: object | FormData; key?: string; prefer?: string }): Promise<T>;
}

// Beyond the ten seconds for which Semel itself waits for a result; longer means that it hangs.
const requestTimeoutMs = 30_000;

/** Calls Semel as any program would: over HTTP, with a key, a POST if there is a body. The signal ends what is under way. */
export function openSemelApi(url: string, apiKey: string, left: AbortSignal): SemelApi {
  const send: SemelApi['send'] = async (path, { body, key, prefer } = {}) => {
    const isForm = body instanceof FormData;
    const answer = await fetch(`${url}${path}`, {
      method: body ? 'POST' : 'GET',
      headers: {
        authorization: `Bearer ${apiKey}`,
        ...(body && !isForm ? { 'content-type': 'application/json' } : {}),
        ...(key ? { 'idempotency-key': key } : {}),
        ...(prefer ? { prefer } : {}),
      },
      ...(body ? { body: isForm ? body : JSON.stringify(body) } : {}),
      signal: AbortSignal.any([left, AbortSignal.timeout(requestTimeoutMs)]),
    });
    return { status: answer.status, headers: answer.headers, text: await answer.text() };
  };
  const ask: SemelApi['ask'] = async (path, request) => {
    const { status, text } = await send(path, request);
    if (status >= 300) throw new Error(`Semel answered ${status} to ${path}: ${text}`);
    return JSON.parse(text);
  };
  return { send, ask };
}
