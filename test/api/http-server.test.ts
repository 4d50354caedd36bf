import { EventEmitter, once } from 'node:events';
import { createConnection, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { Hono } from 'hono';
import { expect, it } from 'vitest';
import type { ApiEnv } from '../../src/api/api-env.ts';
import { startHttpServer } from '../../src/api/http-server.ts';

async function connectTo(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = createConnection({ host: hostname, port: Number(port) });
  await once(socket, 'connect');
  return socket;
}

it('a connection that says nothing, or not all, does not hold up the end, and a request in hand is answered', async () => {
  const gate = new EventEmitter();
  const arrived = once(gate, 'arrived');
  const app = new Hono<ApiEnv>()
    .get('/slow', async (c) => {
      const released = once(gate, 'released');
      gate.emit('arrived');
      await released;
      return c.text('done');
    })
    .post('/early', (c) => c.text('enough'));
  const server = await startHttpServer(app, { host: '127.0.0.1', port: 0 });

  // As browsers and load balancers open them to have them ready.
  const silent = await connectTo(server.url);
  const halfway = await connectTo(server.url);
  halfway.write('GET /slow HTTP/1.1\r\nHost: x\r\n');
  // Its answer came before the end of what it sends.
  const unfinished = await connectTo(server.url);
  unfinished.write('POST /early HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n');
  await once(unfinished, 'data');
  const busy = await connectTo(server.url);
  busy.write('GET /slow HTTP/1.1\r\nHost: x\r\n\r\n');
  await arrived;

  const answer = text(busy);
  const cut = Promise.all([silent, halfway, unfinished].map((socket) => once(socket.resume(), 'close')));
  const closed = server.close();
  await cut;
  gate.emit('released');
  expect(await answer).toMatch(/^HTTP\/1\.1 200 .*done/s);
  await closed;
});
