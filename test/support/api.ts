import { randomUUID } from 'node:crypto';
import { Agent, request } from 'undici';
import { inject } from 'vitest';
import { AnswerCheck, type CheckedAnswer } from './answer-check.ts';

export const testApiKey = 'test-key-of-client-default';

export interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  // biome-ignore lint/suspicious/noExplicitAny: a test says what it expects of a body, and is wrong or right at run time.
  body: any;
  text: string;
}

export interface CallOptions {
  key?: string | undefined;
  headers?: Record<string, string>;
  apiKey?: string | undefined;
}

let check: AnswerCheck | undefined;

/** An HTTP client as an outsider would write it: it knows the contract and nothing of the code. Every answer is held against the API's description. */
export class Api {
  readonly url: string;
  readonly #agent = new Agent({ connections: 200, headersTimeout: 90_000 });

  constructor(url: string) {
    this.url = url;
  }

  async send(method: string, path: string, body?: string | Buffer, options: CallOptions = {}): Promise<Answer> {
    const { apiKey = testApiKey, key, headers } = options;
    const answer = await request(`${this.url}${path}`, {
      method: method as 'GET',
      dispatcher: this.#agent,
      headers: {
        authorization: `Bearer ${apiKey}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(key !== undefined && { 'idempotency-key': key }),
        ...headers,
      },
      ...(body !== undefined && { body }),
    });
    const text = await answer.body.text();
    this.#hold(method, path, { status: answer.statusCode, headers: answer.headers, text });
    const isJson = /[/+]json\b/.test(String(answer.headers['content-type']));
    return { status: answer.statusCode, headers: answer.headers, text, body: isJson ? JSON.parse(text) : undefined };
  }

  /** So that each test that calls the API also tests its description, and neither drifts from the other. */
  #hold(method: string, path: string, answer: CheckedAnswer): void {
    check ??= new AnswerCheck(inject('openApi'));
    const faults = check.faultsOf(method, path, answer);
    if (faults.length === 0) return;
    throw new Error(
      `${method} ${path} is not answered as documented: ${faults.join('; ')}\n${answer.status} ${answer.text}`,
    );
  }

  async get(path: string, options?: CallOptions): Promise<Answer> {
    return await this.send('GET', path, undefined, options);
  }

  async post(path: string, body: unknown, options?: CallOptions): Promise<Answer> {
    return await this.send('POST', path, JSON.stringify(body), options);
  }

  /** Opens an account and returns its id. */
  async openAccount(
    openingBalance: number,
    more: Record<string, unknown> = {},
    options: CallOptions = {},
  ): Promise<string> {
    const body = { owner: 'Ada', currency: 'EUR', openingBalance, ...more };
    const answer = await this.post('/v1/accounts', body, { key: randomUUID(), ...options });
    if (answer.status !== 201) throw new Error(`account.open answered ${answer.status}: ${answer.text}`);
    return answer.body.id;
  }

  async balanceOf(accountId: string): Promise<number> {
    return (await this.get(`/v1/accounts/${accountId}`)).body.balance;
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }
}
