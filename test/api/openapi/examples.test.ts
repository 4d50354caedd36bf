import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type * as appModule from '../../../src/api/app.ts';
import type { OpenApiDocument } from '../../../src/api/openapi/document.ts';
import { readConfig } from '../../../src/config.ts';
import { createOperationHost } from '../../../src/queues/webhooks/operation-host.ts';
import type { Answer } from '../../support/api.ts';
import { type CountingSink, startCountingSink } from '../../support/counting-sink.ts';
import { eventually } from '../../support/eventually.ts';
import { multipartOf } from '../../support/mailings.ts';
import { startTestService, type TestService } from '../../support/service.ts';
import { Alignment } from './alignment.ts';
import { type Step, stepsOf } from './documented-examples.ts';
import { plantTroubles } from './plant-troubles.ts';

// The real service, but with a name server for which every host of an example exists.
vi.mock('../../../src/api/app.ts', async (importOriginal) => {
  const original = await importOriginal<typeof appModule>();
  const stores = { DATABASE_URL: 'postgres://localhost/x', REDIS_URL: 'redis://localhost' };
  const config = readConfig({ ...stores, SEMEL_SECRET_KEY: 'a-key-for-tests-of-at-least-32-characters' });
  const operationHost = createOperationHost(config, { resolve: async () => [{ address: '93.184.216.34', family: 4 }] });
  const createApp: typeof original.createApp = (parts) => original.createApp({ ...parts, operationHost });
  return { createApp };
});

/** What depends on how far the workers are by then. Status and schema must be right all the same. */
const timed = [
  'POST /v1/mailings, again',
  'POST /v1/mailings/{id}/pause, act',
  'POST /v1/mailings/{id}/resume, act',
  'POST /v1/mailings/{id}/cancel, act',
  'POST /v1/mailings/{id}/retry-failed, act',
  'POST /v1/mailings/{id}/resend-unknown, act',
  'POST /v1/mailings/{id}/resolve-unknown, act',
  'POST /v1/mailings/{id}/entries/{line}/resend, again',
  'GET /v1/webhooks/{id}/deliveries, transfers',
  'GET /v1/admin/idempotency/health, now',
  'GET /v1/admin/idempotency/stats/duplicates, day',
  'GET /v1/admin/idempotency/records/stuck, hour',
  'GET /v1/admin/actions, latest',
  'GET /v1/admin/invariants, all',
];

let service: TestService;
let sink: CountingSink;

beforeAll(async () => {
  sink = await startCountingSink();
  // The mail server of the examples: it refuses one, asks to come back later for another, and hangs up on some.
  sink.moodFor = (address, timesMet) => {
    if (address.startsWith('refused@')) return { code: 550, at: 'rcpt' };
    if (address.startsWith('later@')) return { code: 451, at: 'rcpt' };
    return address.startsWith('doubt-') && timesMet === 0 ? 'drop-after-data' : 'take';
  };
  service = await startTestService({
    environment: {
      MAIL_URL: sink.url,
      PUBLIC_URL: 'http://127.0.0.1:3000',
      WAIT_SECONDS: '30',
      // Longer than the test: whoever is asked to come later does not come.
      RETRY_DELAYS_MS: '600000,600000',
    },
  });
  await plantTroubles(service.db);
});

afterAll(async () => {
  await service.close();
  await sink.close();
});

it('the examples of the document, one after the other, are answered as it says', async () => {
  const document: OpenApiDocument = (await service.api.get('/openapi.json')).body;
  const alignment = new Alignment();
  // What is deleted is deleted when everybody has seen it.
  const waiting = stepsOf(document).toSorted((a, b) => Number(a.method === 'DELETE') - Number(b.method === 'DELETE'));
  expect(waiting.length).toBeGreaterThan(60);
  while (waiting.length > 0) {
    const next = waiting.findIndex((step) => alignment.missingIn(requestTextOf(step)).length === 0);
    const [step] = next === -1 ? [] : waiting.splice(next, 1);
    if (!step) throw new Error(`these need ids that nobody shows: ${waiting.map(({ name }) => name).join('; ')}`);
    if (step.method === 'GET') await eventually(() => perform(step, alignment), { timeoutMs: 30_000 });
    else await perform(step, alignment);
  }
});

const requestTextOf = ({ path, query, body }: Step): string => JSON.stringify([path, query, body ?? null]);

/** The client of the tests holds each answer against the schemas of the document. */
async function perform(step: Step, alignment: Alignment): Promise<void> {
  const answer = await send(step, alignment);
  expect({ step: step.name, status: answer.status }, answer.text).toEqual({
    step: step.name,
    status: step.answer.status,
  });
  const isByName = step.route.startsWith('POST /v1/operations/') && !step.route.endsWith('/bulk');
  if (isByName) expect(answer.headers['idempotent-replayed'], step.name).toBe('true');
  const { body } = step.answer;
  if (body === undefined || isByName || timed.includes(step.name)) return;
  const actual = typeof body === 'string' ? answer.text : answer.body;
  expect(alignment.differences(body, actual), `${step.name}: ${answer.text}`).toEqual([]);
}

async function send(step: Step, alignment: Alignment): Promise<Answer> {
  const query = new URLSearchParams(step.query).toString();
  const target = alignment.toReal(`${step.path}${query && `?${query}`}`);
  const { body, type } = toBody(step, alignment);
  const headers = { ...step.headers, ...(type !== undefined && { 'content-type': type }) };
  return await service.api.send(step.method, target, body, { headers });
}

function toBody(step: Step, alignment: Alignment): { body?: string | Buffer; type?: string } {
  if (step.body === undefined) return {};
  const type = step.headers['content-type'] ?? '';
  if (type === 'multipart/form-data') {
    const { file, ...fields } = step.body as Record<string, string>;
    const { filename } = step.answer.body as { filename: string };
    const form = multipartOf(file ?? '', filename, fields);
    return { body: form.body, type: `${type}; boundary=${form.boundary}` };
  }
  if (typeof step.body === 'string') return { body: Buffer.from(alignment.toReal(step.body)), type };
  return { body: alignment.toReal(JSON.stringify(step.body)), type };
}
