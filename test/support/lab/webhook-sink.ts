import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** How a delivery is met: all but the first three are noted first, as by a receiver that applies it and then fails. */
export type Reception = 'take' | 'refuse' | 'hang' | 'apply-and-fail' | 'apply-and-cut';

export interface WebhookSink {
  url: string;
  /** Of each webhook-id: how often it was applied, and with which bodies. */
  applied: Map<string, { times: number; bodies: Set<string> }>;
  /** Decides how a delivery is met, with how often its id was met before. */
  receptionFor: (id: string, timesMet: number) => Reception;
  close: () => Promise<void>;
}

/** A receiver of webhooks that counts by webhook-id, as one that deduplicates would. */
export async function startWebhookSink(): Promise<WebhookSink> {
  const met = new Map<string, number>();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const id = String(request.headers['webhook-id']);
      const times = met.get(id) ?? 0;
      met.set(id, times + 1);
      const reception = sink.receptionFor(id, times);
      if (reception === 'hang') return;
      if (reception === 'refuse') return void response.writeHead(503).end();
      const seen = sink.applied.get(id) ?? { times: 0, bodies: new Set<string>() };
      seen.times += 1;
      seen.bodies.add(Buffer.concat(chunks).toString());
      sink.applied.set(id, seen);
      if (reception === 'apply-and-cut') return void request.socket.destroy();
      response.writeHead(reception === 'take' ? 204 : 500).end();
    });
    request.on('error', () => undefined);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const sink: WebhookSink = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    applied: new Map(),
    receptionFor: () => 'take',
    close: async () => {
      server.closeAllConnections();
      server.close();
    },
  };
  return sink;
}
