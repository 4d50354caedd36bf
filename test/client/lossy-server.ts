import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/** What becomes of an answer that the service gave: it passes, is lost, breaks off in the middle, or is another one. */
export type Fate =
  | 'pass'
  | 'drop'
  | { cutAfterBytes: number }
  | { status: number; headers: Record<string, string>; body: string };

export interface LossyServer {
  url: string;
  /** How many answers did not reach their client. */
  readonly lost: number;
  close: () => Promise<void>;
}

/** Stands between a client and the service. The service does its work; then `decide` says what the client gets to see. */
export async function startLossyServer(
  target: string,
  decide: (count: number, path: string) => Fate,
): Promise<LossyServer> {
  let count = 0;
  let lost = 0;
  const server = createServer((incoming, outgoing) => {
    forward(target, incoming, outgoing, () => {
      count += 1;
      const fate = decide(count, incoming.url ?? '');
      if (fate !== 'pass') lost += 1;
      return fate;
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    get lost() {
      return lost;
    },
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function forward(target: string, incoming: IncomingMessage, outgoing: ServerResponse, decide: () => Fate): void {
  const { method, url, headers } = incoming;
  const upstream = request(`${target}${url}`, { method, headers }, (answer) => {
    const fate = decide();
    if (fate === 'pass' || (fate !== 'drop' && 'cutAfterBytes' in fate)) {
      outgoing.writeHead(answer.statusCode ?? 500, answer.headers).flushHeaders();
      answer.pipe(outgoing);
      if (fate !== 'pass') cutAfter(answer, fate.cutAfterBytes, incoming.socket);
      return;
    }
    answer.resume();
    if (fate === 'drop') {
      incoming.socket.destroy();
      return;
    }
    outgoing.writeHead(fate.status, fate.headers).end(fate.body);
  });
  // Whoever is gone reads nothing more.
  incoming.socket.once('close', () => upstream.destroy());
  upstream.on('error', () => incoming.socket.destroy());
  incoming.pipe(upstream);
}

function cutAfter(answer: IncomingMessage, bytes: number, socket: Socket): void {
  let seen = 0;
  answer.on('data', (chunk: Buffer) => {
    seen += chunk.length;
    if (seen >= bytes) socket.destroy();
  });
}
