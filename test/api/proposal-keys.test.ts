import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { move, newCustomer } from '../support/proposals.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
let customerId: string;

beforeAll(async () => {
  service = await startTestService({ environment: { WAIT_SECONDS: '30' } });
  customerId = await newCustomer(service.api);
});

afterAll(() => service.close());

const quote = (key: string) => `"${key.replace(/["\\]/g, '\\$&')}"`;

/** Creates and submits a proposal for each key, twice, under a sub-client of its own. */
async function expectNeverMixedUp(keys: readonly string[], write: (key: string) => string): Promise<void> {
  const headers = { 'x-client-id': randomBytes(8).toString('hex') };
  const requests = keys.map((key, index) => ({ key: write(key), body: { customerId, amount: index + 1 } }));
  const create = () =>
    Promise.all(requests.map(({ key, body }) => service.api.post('/v1/proposals', body, { key, headers })));
  const created = await create();
  expect(created.map(({ status, body }) => [status, body.amount])).toEqual(keys.map((_, index) => [201, index + 1]));
  const ids: string[] = created.map(({ body }) => body.id);
  expect(new Set(ids).size).toBe(keys.length);

  const submit = () =>
    Promise.all(requests.map(({ key }, index) => move(service.api, ids[index] ?? '', 'submit', 1, { key, headers })));
  const submitted = await submit();
  expect(submitted.map(({ status, body }) => [status, body.id])).toEqual(ids.map((id) => [200, id]));
  expect((await submit()).map(({ text }) => text)).toEqual(submitted.map(({ text }) => text));
  // The create replays with the proposal as it is now.
  expect((await create()).map(({ body }) => body)).toEqual(submitted.map(({ body }) => body));
}

const keys = [
  ...['a', 'A', '0', '00', '1', 'a b', 'a  b', 'a/b', 'a//b', 'a:b', 'a::b', 'a%20b', 'a%2Fb', 'a%2fb', 'a%3Ab', '%'],
  ...['a"b', "a'b", 'a\\b', 'a\\"b', 'a,b', 'a;b', 'a=20b', 'a=2Fb', 'a~b', 'a@b', '~2', '+', '*', '..', '../a', '{a}'],
  ...['x'.repeat(255), `${'x'.repeat(254)}y`, '%'.repeat(255), '"'.repeat(255).replace('"', '/'), '__proto__', 'null'],
];

it('keys of every printable kind, of 1 and of 255 characters, serve a create and a submit and are never mixed up', async () => {
  await expectNeverMixedUp(keys, (key) => key);
});

it('the same keys in quotes are never mixed up either, also with spaces at their ends', async () => {
  await expectNeverMixedUp([...keys, ' ', '  ', ' a', 'a ', '"', '"a"', '"'.repeat(255)], quote);
});

it('any different printable keys are different proposals', async () => {
  const character = fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code));
  const printable = fc.string({ unit: character, minLength: 1, maxLength: 255 });
  const property = fc.asyncProperty(fc.uniqueArray(printable, { minLength: 2, maxLength: 8 }), (some) =>
    expectNeverMixedUp(some, quote),
  );
  await fc.assert(property, { numRuns: 20 });
});
