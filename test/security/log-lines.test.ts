import { randomUUID } from 'node:crypto';
import { Hono } from 'hono';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { ApiEnv } from '../../src/api/api-env.ts';
import { startHttpServer } from '../../src/api/http-server.ts';
import { handleError } from '../../src/api/problem-response.ts';
import { assignRequestId } from '../../src/api/request-id.ts';
import { createLog } from '../../src/log.ts';
import { defineOperation, printableKey } from '../../src/processors/define-operation.ts';
import { operations } from '../../src/processors/registry.ts';
import { requestBytes, sendRaw } from '../api/raw-request.ts';
import { eventually } from '../support/eventually.ts';
import { uploadCsv } from '../support/mailings.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { leaksOf } from './safe-answer.ts';

/** What would be a line of its own, or a command to the terminal of whoever reads the log. */
const forged = '{"level":60,"time":0,"msg":"forged"}';
const hostile = [
  `a\n${forged}\n`,
  `a\r\n${forged}\r\n`,
  '\u001b[2J\u001b[31mred\u0007',
  `a\u0000b`,
  `"}\n${forged}`,
  '\\n\\r',
];

let service: TestService;
const written: string[] = [];
const log = createLog('trace', { write: (text: string) => void written.push(text) });

/** One that fails with whatever words it is given, as a library might repeat a value. */
const failing = defineOperation({
  name: 'test.fail',
  request: z.strictObject({ words: z.string() }),
  key: { required: false, pattern: printableKey },
  onMismatch: 'reject',
  replay: 'stored',
  process: async ({ words }) => {
    throw Object.assign(new Error(words, { cause: new Error(`cause: ${words}`) }), { [words]: words });
  },
});

beforeAll(async () => {
  const environment = { RETRY_DELAYS_MS: 'none' };
  service = await startTestService({ environment, operations: [...operations, failing], log });
});

afterAll(() => service.close());

/** Each write is one line, a JSON object of ours, without any character that is not for reading. */
function expectLines(): void {
  expect(written.length).toBeGreaterThan(0);
  for (const text of written) {
    expect(text.endsWith('\n')).toBe(true);
    const line = text.slice(0, -1);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for.
    expect(line).not.toMatch(/[\u0000-\u001f]/);
    const entry = JSON.parse(line);
    expect(entry).toMatchObject({ level: expect.any(Number), time: expect.any(Number), msg: expect.any(String) });
    expect(entry.msg).not.toBe('forged');
  }
}

describe('a log has one line for each entry', () => {
  it('whatever an operation fails with, of which the client learns nothing', async () => {
    for (const words of hostile.filter((text) => !text.includes('\0'))) {
      const answer = await service.api.post('/v1/operations/test.fail', { words });
      expect(answer.body.code).toBe('OPERATION_FAILED');
      expect(leaksOf(answer.text)).toEqual([]);
      expect(answer.text).not.toContain('forged');
    }
    await eventually(() => expect(written.join('')).toContain('gave up'));
    expectLines();
  });

  it('whatever the headers, the path and the body hold', async () => {
    for (const text of hostile) {
      const escaped = encodeURIComponent(text);
      for (const name of ['X-Request-Id', 'Idempotency-Key', 'X-Client-ID', 'User-Agent', 'Prefer', 'Authorization']) {
        await sendRaw(service.api.url, requestBytes('GET /v1/operations', [`${name}: ${text}`]));
      }
      for (const path of [
        `/v1/operations/${escaped}`,
        `/v/${escaped}`,
        `/${escaped}`,
        `/v1/operations?key=${escaped}`,
      ]) {
        expect((await service.api.get(path)).status).toBeLessThan(500);
      }
      const made = await service.api.post('/v1/accounts', { owner: text, currency: text }, { key: randomUUID() });
      expect(made.status).toBe(400);
      const fields = { subject: 'Hello', text: `{{name}}` };
      await uploadCsv(service.api, `email,name\n"${text.replaceAll('"', '""')}@example.com","x"\n`, { fields });
    }
    expectLines();
  });

  it('whatever a request fails with that nobody expected', async () => {
    const app = new Hono<ApiEnv>().use(assignRequestId);
    app.get('/*', (c) => {
      throw new Error(decodeURIComponent(c.req.path));
    });
    app.onError((error, c) => handleError({ log }, error, c));
    const server = await startHttpServer(app, { host: '127.0.0.1', port: 0 });
    for (const text of hostile) {
      const answer = await fetch(`${server.url}/${encodeURIComponent(text)}`, { headers: { connection: 'close' } });
      expect(answer.status).toBe(500);
      const body = await answer.text();
      expect(leaksOf(body)).toEqual([]);
      expect(body).not.toContain('forged');
    }
    await server.close();
    expect(written.filter((line) => line.includes('request failed'))).toHaveLength(hostile.length);
    expectLines();
  });
});
