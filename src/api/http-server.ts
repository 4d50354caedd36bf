import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import type { Hono } from 'hono';
import type { ApiEnv } from './api-env.ts';
import { answerUnreadable, respondToUnaddressed } from './unreadable-request.ts';

export interface HttpServer {
  url: string;
  /** Takes no new connections, answers the requests in hand, and ends. */
  close: () => Promise<void>;
}

export interface HttpTimeouts {
  /** From its first byte to its last. The largest file takes the default at 600 kbit/s. */
  requestTimeout: number;
  headersTimeout: number;
  keepAliveTimeout: number;
  /** How often the first two are looked at, which is what they may be late by. */
  connectionsCheckingInterval: number;
}

/** In milliseconds. Bodies of other routes than uploads have a shorter time of their own. */
const defaultTimeouts: HttpTimeouts = {
  requestTimeout: 3_600_000,
  headersTimeout: 20_000,
  // Longer than the idle timeout of usual load balancers, so that it is they who close first.
  keepAliveTimeout: 65_000,
  connectionsCheckingInterval: 5_000,
};

/** So long after the end was announced, a request that is on its way may still arrive. */
const lastArrivalsMs = 500;
/** A client that sends on after its answer may not have read it yet, and a cut takes from it what it has not read. */
const lastReadingMs = 5_000;
const sweepIntervalMs = 50;

export async function startHttpServer(
  app: Hono<ApiEnv>,
  address: { host: string; port: number },
  timeouts: HttpTimeouts = defaultTimeouts,
): Promise<HttpServer> {
  // What has no Host header reaches the listener too, so that it is refused with a problem and not with an empty answer.
  const listener = getRequestListener(app.fetch, { errorHandler: respondToUnaddressed });
  const server = createServer({ ...timeouts, requireHostHeader: false }, listener);
  // An expectation that we do not know may be ignored; Node would answer it with an empty 417.
  server.on('checkExpectation', listener);
  server.on('clientError', answerUnreadable);
  const connections = new Connections(server);
  server.listen(address.port, address.host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const host = address.host.includes(':') ? `[${address.host}]` : address.host;
  return { url: `http://${host}:${port}`, close: () => closeServer(server, connections) };
}

async function closeServer(server: Server, connections: Connections): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  const untilMs = performance.now() + lastArrivalsMs;
  // A connection that is answered after this point would stay open until its client lets go.
  const sweep = setInterval(() => {
    server.closeIdleConnections();
    if (performance.now() >= untilMs) connections.cutIdle();
  }, sweepIntervalMs);
  await closed;
  clearInterval(sweep);
}

/**
 * Knows which connections have a request in hand. To Node one that has said nothing yet, as browsers open them to have them
 * ready, counts as busy, and so does one whose client has its answer and sends on: they would hold up the end.
 */
class Connections {
  readonly #open = new Map<Socket, { inHand: number; answeredMs: number }>();

  constructor(server: Server) {
    server.on('connection', (socket: Socket) => {
      this.#open.set(socket, { inHand: 0, answeredMs: Number.NEGATIVE_INFINITY });
      socket.once('close', () => this.#open.delete(socket));
    });
    const note = ({ socket }: IncomingMessage, response: ServerResponse) => {
      const state = this.#open.get(socket);
      if (!state) return;
      state.inHand += 1;
      response.once('close', () => {
        state.inHand -= 1;
        state.answeredMs = performance.now();
      });
    };
    server.prependListener('request', note).prependListener('checkExpectation', note);
  }

  cutIdle(): void {
    const readByMs = performance.now() - lastReadingMs;
    for (const [socket, { inHand, answeredMs }] of this.#open) {
      if (inHand === 0 && answeredMs <= readByMs) socket.destroy();
    }
  }
}
