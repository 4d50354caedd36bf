import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { type Delivery, deliver } from '../../../scripts/bulk/deliver.ts';
import type { Row } from '../../../scripts/bulk/row.ts';

interface Line {
  key: string;
}
type Step = (lines: Line[], response: ServerResponse) => void;

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** A service that behaves as the steps say, one for each request; the last one stays. */
async function startServer(...steps: readonly Step[]): Promise<{ url: string; requests: Line[][] }> {
  const requests: Line[][] = [];
  const server = createServer(async (request: IncomingMessage, response: ServerResponse) => {
    let text = '';
    for await (const chunk of request.setEncoding('utf8')) text += chunk;
    const lines = text
      .split('\n')
      .filter(Boolean)
      .map((line): Line => JSON.parse(line));
    requests.push(lines);
    const step = steps[Math.min(requests.length, steps.length) - 1];
    step?.(lines, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}

const take = (line: Line, index: number) =>
  `${JSON.stringify({ line: index + 1, key: line.key, operationId: `id-of-${line.key}`, status: 'QUEUED', created: true })}\n`;
const refuse = (line: Line, index: number, more: object) =>
  `${JSON.stringify({ line: index + 1, key: line.key, detail: 'because', ...more })}\n`;
const takeAll: Step = (lines, response) => response.end(lines.map(take).join(''));

const rows = (count: number): Row[] =>
  Array.from({ length: count }, (_, index) => ({ line: index + 2, key: `key-${index}`, request: {}, source: [] }));

async function run(url: string, list: readonly Row[], more: Partial<Delivery> = {}) {
  const taken: string[] = [];
  const refused: string[] = [];
  const failed: string[] = [];
  const waits: number[] = [];
  const isDone = await deliver(
    {
      service: { url, headers: {} },
      operation: 'test.run',
      patienceMs: 30_000,
      stop: new AbortController().signal,
      onTaken: ({ key = '' }) => taken.push(key),
      onRefused: ({ row, code }) => refused.push(`${row.key} ${code}`),
      onFailed: ({ row, code }) => failed.push(`${row.key} ${code}`),
      onWait: (_, ms) => waits.push(ms),
      ...more,
    },
    list,
  );
  return { isDone, taken, refused, failed, waits };
}

it('rows without an answer are sent again, with the same keys, and those with one are not', async () => {
  const { url, requests } = await startServer((lines, response) => {
    response.write(lines.slice(0, 3).map(take).join(''));
    // Half of an answer is none.
    response.write('{"line":4,"key":"key-3","opera', () => response.destroy());
  }, takeAll);
  const result = await run(url, rows(5));
  expect(result.taken).toEqual(['key-0', 'key-1', 'key-2', 'key-3', 'key-4']);
  expect(requests.map((lines) => lines.map(({ key }) => key))).toEqual([
    ['key-0', 'key-1', 'key-2', 'key-3', 'key-4'],
    ['key-3', 'key-4'],
  ]);
});

it('a stream that ends early is gone on with', async () => {
  const { url, requests } = await startServer(
    (lines, response) =>
      response.end(lines.slice(0, 2).map(take).join('') + refuse(lines[2] as Line, 2, { code: 'UNAVAILABLE' })),
    takeAll,
  );
  expect((await run(url, rows(5))).taken).toHaveLength(5);
  expect(requests.map(({ length }) => length)).toEqual([5, 3]);
});

it('429, 503, 502 and lines that are for later are tried again, after the pause that was asked for', async () => {
  const problem =
    (status: number, headers: Record<string, string>): Step =>
    (_, response) =>
      response.writeHead(status, headers).end('{"detail":"later"}');
  const { url, requests } = await startServer(
    problem(429, { 'retry-after': '1' }),
    problem(503, {}),
    problem(502, {}),
    (lines, response) =>
      response.end(
        lines.map((line, index) => refuse(line, index, { code: 'RATE_LIMITED', retryAfterSeconds: 1 })).join(''),
      ),
    takeAll,
  );
  const { taken, waits } = await run(url, rows(2));
  expect(taken).toHaveLength(2);
  expect(requests).toHaveLength(5);
  expect([waits[0], waits[3]]).toEqual([1_000, 1_000]);
});

it('what the service refuses is refused, and what it fails at has failed', async () => {
  const { url, requests } = await startServer((lines, response) =>
    response.end(
      [
        take(lines[0] as Line, 0),
        refuse(lines[1] as Line, 1, { code: 'INVALID_REQUEST' }),
        refuse(lines[2] as Line, 2, { code: 'INTERNAL' }),
        refuse(lines[3] as Line, 3, { code: 'INCONSISTENT_REQUEST', operationId: 'another' }),
      ].join(''),
    ),
  );
  expect(await run(url, rows(4))).toMatchObject({
    isDone: true,
    taken: ['key-0'],
    refused: ['key-1 INVALID_REQUEST', 'key-3 INCONSISTENT_REQUEST'],
    failed: ['key-2 INTERNAL'],
  });
  expect(requests).toHaveLength(1);
});

it('a key of the API that is not good ends it with what the service says', async () => {
  const { url } = await startServer((_, response) => response.writeHead(401).end('{"detail":"Send a valid key."}'));
  await expect(run(url, rows(1))).rejects.toThrow('The service says: Send a valid key.');
});

it('it gives up when nothing was taken for longer than its patience', async () => {
  const { url } = await startServer((_, response) => response.destroy());
  const result = await run(url, rows(2), { patienceMs: 1 });
  expect(result).toMatchObject({ isDone: false, taken: [], failed: ['key-0 GIVEN_UP', 'key-1 GIVEN_UP'] });
});

it('asked to stop, it stops in the middle and calls nothing failed', async () => {
  const stop = new AbortController();
  const { url } = await startServer((lines, response) => {
    response.write(take(lines[0] as Line, 0), () => setImmediate(() => stop.abort()));
  });
  const result = await run(url, rows(3), { stop: stop.signal });
  expect(result).toMatchObject({ failed: [], refused: [] });
});
