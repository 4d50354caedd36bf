import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { createInterface } from 'node:readline';
import { testApiKey } from './api.ts';

// biome-ignore lint/suspicious/noExplicitAny: a test says what it expects of an answer, and is wrong or right at run time.
export type BulkAnswer = any;

/** A bulk request as an outsider would write it, with both directions in the test's hands. */
export class BulkStream {
  readonly request: ClientRequest;
  readonly #response: Promise<IncomingMessage>;
  #answers: AsyncIterator<string> | undefined;

  constructor(url: string, headers: Record<string, string> = {}) {
    this.request = request(`${url}/v1/operations/bulk`, {
      method: 'POST',
      headers: { authorization: `Bearer ${testApiKey}`, 'content-type': 'application/x-ndjson', ...headers },
    });
    this.#response = once(this.request, 'response').then(([response]) => response as IncomingMessage);
    // Whoever reads hears of it; one that only sends need not.
    this.#response.catch(() => undefined);
    this.request.on('error', () => undefined);
    this.request.flushHeaders();
  }

  async status(): Promise<number | undefined> {
    return (await this.#response).statusCode;
  }

  /** Waits for room if the server does not read as fast. Nothing is written to a stream that is over. */
  async write(text: string | Buffer): Promise<void> {
    const { request } = this;
    if (request.destroyed || request.write(text)) return;
    await new Promise<void>((resolve) => {
      const goOn = () => {
        request.off('drain', goOn).off('close', goOn);
        resolve();
      };
      request.on('drain', goOn).on('close', goOn);
    });
  }

  async send(...lines: readonly unknown[]): Promise<void> {
    await this.write(toLines(lines));
  }

  /** The next answer, or undefined at the end. */
  async next(): Promise<BulkAnswer | undefined> {
    this.#answers ??= createInterface({ input: await this.#response })[Symbol.asyncIterator]();
    const { done, value } = await this.#answers.next();
    return done ? undefined : JSON.parse(value);
  }

  async rest(): Promise<BulkAnswer[]> {
    const answers: BulkAnswer[] = [];
    for (let answer = await this.next(); answer !== undefined; answer = await this.next()) answers.push(answer);
    return answers;
  }

  destroy(): void {
    this.request.destroy();
  }
}

export function toLines(lines: readonly unknown[]): string {
  return lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join('');
}

/** Sends it all and reads all answers, both at once. */
export async function sendBulk(
  url: string,
  body: string | Buffer,
  headers: Record<string, string> = {},
): Promise<BulkAnswer[]> {
  const stream = new BulkStream(url, headers);
  stream.request.end(body);
  return await stream.rest();
}
