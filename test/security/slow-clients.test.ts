import type { Socket } from 'node:net';
import { Hono } from 'hono';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { ApiEnv } from '../../src/api/api-env.ts';
import type * as httpServer from '../../src/api/http-server.ts';
import { startHttpServer } from '../../src/api/http-server.ts';
import { handleError } from '../../src/api/problem-response.ts';
import { readBody } from '../../src/api/read-json.ts';
import { assignRequestId } from '../../src/api/request-id.ts';
import { openConnection, readAnswer, requestBytes } from '../api/raw-request.ts';
import type { Answer } from '../support/api.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { expectSafe, SafeApi } from './safe-answer.ts';
import { countRows } from './stored-rows.ts';

// The real service with less patience, so that nobody waits for minutes to see it end.
vi.mock('../../src/api/http-server.ts', async (importOriginal) => {
  const original = await importOriginal<typeof httpServer>();
  const timeouts = {
    headersTimeout: 400,
    requestTimeout: 1_200,
    keepAliveTimeout: 65_000,
    connectionsCheckingInterval: 50,
  };
  const start: typeof original.startHttpServer = (app, address) => original.startHttpServer(app, address, timeouts);
  return { ...original, startHttpServer: start };
});

let service: TestService;
let api: SafeApi;
const feeding = new Set<NodeJS.Timeout>();

beforeAll(async () => {
  service = await startTestService({ role: 'api' });
  api = new SafeApi(service.api.url);
});

afterEach(() => {
  for (const timer of feeding) clearInterval(timer);
  feeding.clear();
});

afterAll(async () => {
  await api.close();
  await service.close();
});

/** Sends the beginning, then drop after drop, and resolves with the answer when the server has closed the connection. */
async function trickle(url: string, beginning: string | Buffer, drop: string): Promise<Answer> {
  const socket: Socket = await openConnection(url);
  socket.on('error', () => undefined);
  socket.write(beginning);
  const timer = setInterval(() => socket.writable && socket.write(drop), 30);
  feeding.add(timer);
  const answer = await readAnswer(socket);
  clearInterval(timer);
  return answer;
}

const headOf = (startLine: string, headers: string[]) =>
  requestBytes(startLine, headers).toString('latin1').replace('Connection: close', 'Connection: keep-alive');

/** Others are answered all the while: each of these would stand in line if the slow ones held something up. */
async function expectOthersAnswered(slow: Promise<Answer>[]): Promise<Answer[]> {
  let isOver = false;
  const ended = Promise.all(slow).finally(() => {
    isOver = true;
  });
  let answered = 0;
  while (!isOver) {
    expect((await api.get('/v1/operations?limit=1')).status).toBe(200);
    if (!isOver) answered += 1;
  }
  expect(answered).toBeGreaterThan(0);
  return await ended;
}

function expectTimedOut(answers: readonly Answer[]): void {
  for (const answer of answers) {
    expectSafe(answer);
    expect({ status: answer.status, code: answer.body?.code }, answer.text).toEqual({
      status: 400,
      code: 'INVALID_REQUEST',
    });
    expect(answer.body.detail).toMatch(/in time|stalled|too early/);
  }
}

describe('a hundred clients at once', () => {
  it('that send their headers drop by drop are cut off, and others are answered meanwhile', async () => {
    const slow = Array.from({ length: 100 }, () =>
      trickle(service.api.url, 'GET /v1/operations HTTP/1.1\r\nHost: x\r\n', 'X-Slow: 1\r\n'),
    );
    expectTimedOut(await expectOthersAnswered(slow));
  });

  it('that connect and send nothing are cut off as well', async () => {
    const slow = Array.from({ length: 100 }, () => trickle(service.api.url, '', ''));
    expectTimedOut(await expectOthersAnswered(slow));
  });

  it.each([
    ['a document', 'POST /v1/accounts', ['Content-Type: application/json', 'Idempotency-Key: k'], '{"owner":"'],
    ['a file', 'POST /v1/mailings?filename=a.csv', ['Content-Type: text/csv'], 'email\n'],
    ['a form', 'POST /v1/mailings', ['Content-Type: multipart/form-data; boundary=B'], '--B\r\nContent-Disposition: '],
  ])(
    'that send %s drop by drop are cut off, others are answered, and nothing is kept',
    async (_, startLine, headers, body) => {
      const before = await countRows(service.db);
      const slow = Array.from({ length: 100 }, () =>
        trickle(service.api.url, headOf(startLine, [...headers, 'Content-Length: 100000']) + body, 'a'),
      );
      expectTimedOut(await expectOthersAnswered(slow));
      expect(await countRows(service.db)).toEqual(before);
    },
  );
});

describe('a document', () => {
  it('that is not complete within its own time is refused, and the connection ends', async () => {
    const log = pino({ level: 'silent' });
    const app = new Hono<ApiEnv>()
      .use(assignRequestId)
      .post('/', async (c) => new Response(await readBody(c.env.incoming, 200)))
      .onError((error, c) => handleError({ log }, error, c));
    const server = await startHttpServer(app, { host: '127.0.0.1', port: 0 });
    const head = headOf('POST /', ['Content-Type: application/json', 'Content-Length: 100000']);
    const answer = await trickle(server.url, head, ' ');
    expect(answer.body).toMatchObject({ status: 400, detail: 'The body did not arrive in time.' });
    await server.close();
  });
});
