import { randomUUID } from 'node:crypto';
import type { Call, Http } from './http.ts';
import type { Answer, CallOptions, RunOptions } from './types.ts';

interface Page<T> {
  items: T[];
  nextCursor: string | null;
}

/** The calls that the resources of the API are made of. */
export class Resources {
  protected readonly http: Http;

  constructor(http: Http) {
    this.http = http;
  }

  protected async get<T>(path: string, options: CallOptions = {}): Promise<T> {
    return (await this.http.call<T>({ ...options, method: 'GET', path })).body;
  }

  /** Runs an operation under a key, and waits until it has its result. */
  protected async run<T>(path: string, request: unknown, { key = randomUUID(), ...options }: RunOptions = {}) {
    const headers = { 'content-type': 'application/json', 'idempotency-key': toHeader(key) };
    const call: Call = { ...options, method: 'POST', path, headers, body: JSON.stringify(request), waits: true };
    return (await this.http.call<T>(call)) satisfies Answer<T>;
  }

  /** Does something to what is there. Where doing it twice would differ, a broken connection is not tried again. */
  protected async act<T>(method: string, path: string, options: CallOptions & Pick<Call, 'isRepeatable' | 'body'>) {
    const headers = options.body === undefined ? {} : { 'content-type': 'application/json' };
    return (await this.http.call<T>({ ...options, method, path, headers })).body;
  }

  /** All items of a list, page by page as they are asked for. */
  protected async *list<T>(
    path: string,
    filter: Record<string, string | undefined> = {},
    options: CallOptions = {},
  ): AsyncGenerator<T> {
    let cursor: string | null = null;
    do {
      const query = new URLSearchParams({ limit: '200', ...(cursor !== null && { cursor }) });
      for (const [name, value] of Object.entries(filter)) if (value !== undefined) query.set(name, value);
      const page: Page<T> = await this.get(`${path}?${query}`, options);
      yield* page.items;
      cursor = page.nextCursor;
    } while (cursor !== null);
  }
}

/** A key with characters that a bare header would lose goes as a quoted string; the service reads both as the same. */
function toHeader(key: string): string {
  return /^[\w-]+$/.test(key) ? key : `"${key.replaceAll(/["\\]/g, '\\$&')}"`;
}
