import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';

export interface ReceivedRequest {
  method: string | undefined;
  path: string | undefined;
  headers: IncomingHttpHeaders;
  body: string;
}

export type Reply = (response: ServerResponse, request: ReceivedRequest) => void;

/** A receiver of webhooks on this machine. It keeps what it got and answers as it is told, 204 unless told otherwise. */
export class Receiver {
  readonly received: ReceivedRequest[] = [];
  reply: Reply = (response) => response.writeHead(204).end();
  readonly #server = createServer(async (request, response) => {
    const { method, url: path, headers } = request;
    const received = { method, path, headers, body: await text(request) };
    this.received.push(received);
    this.reply(response, received);
  });

  async listen(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return this;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/hook`;
  }

  /** Answers every request with the status. */
  answerWith(status: number, headers: Record<string, string> = {}): void {
    this.reply = (response) => response.writeHead(status, headers).end();
  }

  get ids(): (string | undefined)[] {
    return this.received.map(({ headers }) => headers['webhook-id'] as string | undefined);
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** What an outsider's verifier makes of a request. It throws if the signature is wrong or the timestamp is old. */
export function verify(secret: string, { body, headers }: ReceivedRequest): unknown {
  return new Webhook(secret).verify(body, headers as Record<string, string>);
}
