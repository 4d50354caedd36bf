import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { move, newCustomer, newProposal } from '../support/proposals.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { countStored, expectClientProblem, expectProblem } from './expectations.ts';
import { postBytes, sendRaw } from './raw-request.ts';

let service: TestService;
let customerId: string;
let proposalId: string;
let before: Record<string, number>;

beforeAll(async () => {
  service = await startTestService({ environment: { WAIT_SECONDS: '30' } });
  customerId = await newCustomer(service.api);
  proposalId = await newProposal(service.api, { customerId });
});

afterAll(() => service.close());

beforeEach(async () => {
  before = await countStored(service.db);
});

// Whatever was sent, nothing of it is kept.
afterEach(async () => {
  expect(await countStored(service.db)).toEqual(before);
  expect((await service.api.get(`/v1/proposals/${proposalId}`)).body).toMatchObject({ status: 'DRAFT', version: 1 });
});

const send = (path: string, body: string) => service.api.send('POST', path, body, { key: randomUUID() });
const verbs = ['submit', 'accept', 'reject'] as const;

describe('a proposal', () => {
  it.each([
    ...['0', '-1', '1.5', '1e400', '9007199254740992', '"1"', 'null', 'true', '[]', '{}', '1.00000000000000000001'],
    ...['NaN', '01', ''],
  ])('with the amount %s is refused', async (amount) => {
    expectProblem(
      await send('/v1/proposals', `{"customerId":"${customerId}","amount":${amount}}`),
      400,
      'INVALID_REQUEST',
    );
  });

  it.each(['""', '"x"', '1', 'null', '"01a1edc0-a267-717f-80f3-84795ecfa04"', '"\\u0000"', '[]'])(
    'of the customer %s is refused',
    async (id) => expectProblem(await send('/v1/proposals', `{"customerId":${id},"amount":1}`), 400, 'INVALID_REQUEST'),
  );

  it.each(['status', 'version', 'id', 'client', '__proto__'])('with the field %s is refused', async (field) => {
    const body = `{"customerId":"${customerId}","amount":1,"${field}":1}`;
    expectProblem(await send('/v1/proposals', body), 400, 'INVALID_REQUEST');
  });
});

describe.each(verbs)('%s', (verb) => {
  it.each([
    ...['0', '-1', '1.5', '2147483648', '9007199254740993', '1e400', '"1"', 'null', 'true', '[]', '{}', '[1]', ''],
  ])('with the version %s is refused', async (version) => {
    expectProblem(await send(`/v1/proposals/${proposalId}/${verb}`, `{"version":${version}}`), 400, 'INVALID_REQUEST');
  });

  it.each(['', '{}', '[]', 'null', '1', '{"version":1', '{"version":1,"x":1}', '{"version":1,"version":1}'])(
    'with the body %j is refused',
    async (body) => expectProblem(await send(`/v1/proposals/${proposalId}/${verb}`, body), 400, 'INVALID_REQUEST'),
  );

  it('with the proposal named twice is refused', async () => {
    const body = JSON.stringify({ version: 1, proposalId });
    expectProblem(await send(`/v1/proposals/${proposalId}/${verb}`, body), 400, 'INVALID_REQUEST');
  });

  it.each(['x', '1', '%00', '..%2f', uuidv7().slice(1), `${uuidv7()}0`, '%F0%9F%98%80'])(
    'of the id %s is not found',
    async (id) => expectProblem(await send(`/v1/proposals/${id}/${verb}`, '{"version":1}'), 404, 'NOT_FOUND'),
  );

  it('of any JSON is refused with a code, never with 500', async () => {
    const body = fc.oneof(
      fc.json(),
      fc.jsonValue().map((version) => JSON.stringify({ version: [version] })),
      fc.double({ noInteger: true }).map((version) => JSON.stringify({ version })),
    );
    const property = fc.asyncProperty(body, async (text) =>
      expectClientProblem(await send(`/v1/proposals/${proposalId}/${verb}`, text)),
    );
    await fc.assert(property, { numRuns: 60 });
  });
});

describe('a key', () => {
  const lines: [string, string][] = [
    ['an emoji', Buffer.from('key-😀').toString('latin1')],
    ['a quoted emoji', Buffer.from('"😀"').toString('latin1')],
    ['an umlaut', Buffer.from('schlüssel').toString('latin1')],
    ['256 characters', 'k'.repeat(256)],
    ['256 quoted characters', `"${'k'.repeat(256)}"`],
    ['nothing', ''],
    ['nothing in quotes', '""'],
    ['a tab', 'a\tb'],
    ['an unclosed quote', '"abc'],
  ];
  it.each(lines)('of %s is refused by every operation', async (_name, key) => {
    const header = [`Idempotency-Key: ${key}`];
    const customer = { name: 'Ada', email: `${randomUUID()}@example.com` };
    for (const [path, body] of [
      ['/v1/customers', customer],
      ['/v1/proposals', { customerId, amount: 1 }],
      ...verbs.map((verb) => [`/v1/proposals/${proposalId}/${verb}`, { version: 1 }] as const),
    ] as const) {
      expectProblem(await sendRaw(service.api.url, postBytes(path, header, body)), 400, 'IDEMPOTENCY_KEY_INVALID');
    }
  });
});

it('an id of any shape that nothing has is not found, never 500', async () => {
  // Stored as a refusal like any other, hence not counted with the rest.
  for (const id of [
    uuidv7(),
    randomUUID(),
    '00000000-0000-0000-0000-000000000000',
    '01a1edc8-25e9-0125-0009-727aa785e463',
  ]) {
    expectProblem(await move(service.api, id, 'submit', 1), 404, 'NOT_FOUND');
    expectProblem(await service.api.get(`/v1/proposals/${id}`), 404, 'NOT_FOUND');
  }
  before = await countStored(service.db);
});
