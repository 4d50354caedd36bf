import { once } from 'node:events';
import { type AddressInfo, createConnection, createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';

let server: Server;
let proxy: TcpProxy;
/** What has reached the server. */
let served: string[];
let sockets: Socket[];

/** Says back what it is told. */
beforeEach(async () => {
  served = [];
  sockets = [];
  server = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      served.push(chunk.toString());
      socket.write(`re: ${chunk}`);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  proxy = await TcpProxy.open((server.address() as AddressInfo).port);
});

afterEach(async () => {
  await proxy.close();
  for (const socket of sockets) socket.destroy();
  server.close();
});

async function connect() {
  const socket = createConnection({ port: proxy.port, host: '127.0.0.1' });
  const client = { socket, heard: '', isClosed: false };
  socket.on('data', (chunk) => {
    client.heard += chunk.toString();
  });
  socket.on('error', () => undefined);
  socket.on('close', () => {
    client.isClosed = true;
  });
  await once(socket, 'connect');
  return client;
}

it('passes everything on, in both directions', async () => {
  const client = await connect();
  client.socket.write('a');
  await eventually(() => expect(client.heard).toBe('re: a'));
  client.socket.destroy();
});

it('cuts connections, and new ones work', async () => {
  const client = await connect();
  client.socket.write('a');
  await eventually(() => expect(client.heard).toBe('re: a'));
  expect(proxy.cut()).toBe(1);
  await eventually(() => expect(client.isClosed).toBe(true));
  const next = await connect();
  next.socket.write('b');
  await eventually(() => expect(next.heard).toBe('re: b'));
  next.socket.destroy();
});

it('loses the reply to a request that the server has served', async () => {
  const client = await connect();
  proxy.loseReply({ request: /commit/, reply: /re:/, times: 1 });
  client.socket.write('begin');
  await eventually(() => expect(client.heard).toBe('re: begin'));
  client.socket.write('commit');
  await eventually(() => expect(client.isClosed).toBe(true));
  expect([client.heard, served, proxy.lostReplies]).toEqual(['re: begin', ['begin', 'commit'], 1]);
});

it('swallows everything, and cuts what was swallowed when it heals', async () => {
  const client = await connect();
  client.socket.write('a');
  await eventually(() => expect(client.heard).toBe('re: a'));
  proxy.blackHole();
  client.socket.write('b');
  const late = await connect();
  late.socket.write('c');
  proxy.heal();
  await eventually(() => expect([client.isClosed, late.isClosed]).toEqual([true, true]));
  expect(served).toEqual(['a']);
});

it('delays, and keeps the order when the delay ends', async () => {
  const client = await connect();
  proxy.delay(50);
  const startedMs = performance.now();
  client.socket.write('a');
  await eventually(() => expect(served).toEqual([]), { intervalMs: 1 });
  await eventually(() => expect(client.heard).toBe('re: a'));
  // Twice: on the way there and on the way back.
  expect(performance.now() - startedMs).toBeGreaterThanOrEqual(99);
  client.socket.destroy();
});
