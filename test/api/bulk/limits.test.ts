import { randomUUID } from 'node:crypto';
import { afterEach, expect, it } from 'vitest';
import { sendBulk, toLines } from '../../support/bulk-stream.ts';
import { allSettled, judge } from '../../support/judge.ts';
import { startTestService, type TestService } from '../../support/service.ts';
import { startPrivateRedis } from '../../support/stores.ts';

let service: TestService;
afterEach(() => service.close());

const account = () => ({
  operation: 'account.open',
  key: randomUUID(),
  request: { owner: 'Ada', currency: 'EUR' },
});
const accounts = (count: number) => Array.from({ length: count }, account);

it('ten lines of a bulk request are allowed for each single one, in a count of their own', async () => {
  service = await startTestService({ environment: { RATE_LIMIT_PER_MINUTE: '3' } });
  const lines = accounts(40);
  const answers = await sendBulk(service.api.url, toLines(lines));
  expect(answers.map(({ created, code }) => created ?? code)).toEqual([
    ...Array(30).fill(true),
    ...Array(10).fill('RATE_LIMITED'),
  ]);
  const refused = answers.at(-1);
  expect(refused).toMatchObject({
    line: 40,
    key: lines[39]?.key,
    detail: expect.stringContaining('30 lines a minute'),
  });
  expect(refused.retryAfterSeconds).toBeGreaterThan(0);
  expect(refused.retryAfterSeconds).toBeLessThanOrEqual(60);
  // The request itself was one of three: two single ones are left, however many lines there were.
  const single = () => service.api.post('/v1/accounts', account().request, { key: randomUUID() });
  const statuses = [await single(), await single(), await single()].map(({ status }) => status);
  expect(statuses).toEqual([201, 201, 429]);
});

it('with Redis away lines are taken all the same, and run when it is back', async () => {
  const redis = await startPrivateRedis();
  service = await startTestService({ environment: { REDIS_URL: redis.url, LOCK_DURATION_MS: '1500' } });
  await redis.kill();
  const answers = await sendBulk(service.api.url, toLines(accounts(50)));
  expect(answers.map(({ created }) => created)).toEqual(Array(50).fill(true));
  await redis.start();
  await allSettled(service.db);
  await judge(service.db);
});
