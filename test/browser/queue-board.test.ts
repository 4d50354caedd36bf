import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { testAdminPassword } from '../support/admin.ts';
import { openBrowser } from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
let page: Page;
const requested = new Set<string>();
const complaints: string[] = [];

beforeAll(async () => {
  service = await startTestService({ environment: { SEMEL_ADMIN_PASSWORD: testAdminPassword } });
  await service.api.post('/v1/accounts', { owner: 'Ada', currency: 'EUR' }, { key: 'first-account' });
  const browser = await openBrowser();
  const context = await browser.newContext({
    httpCredentials: { username: 'admin', password: testAdminPassword },
    viewport: { width: 1280, height: 900 },
    // Not the language of the machine that runs the tests.
    locale: 'en-US',
  });
  page = await context.newPage();
  page.on('request', (request) => requested.add(new URL(request.url()).origin));
  page.on('console', (message) => complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(error.message));
});

afterAll(() => service.close());

it('the administrator sees all queues and a job, and nothing comes from another host', async () => {
  await page.goto(`${service.api.url}/queues`);
  for (const name of ['operations', 'notifications', 'mailings', 'dead-letters', 'housekeeping']) {
    await page.getByRole('link', { name }).first().waitFor({ state: 'visible' });
  }
  await page.goto(`${service.api.url}/queues/queue/operations?status=completed`);
  await page.getByText('account.open~default~first-account').first().waitFor({ state: 'visible' });
  expect([...requested]).toEqual([service.api.url]);
  expect(complaints).toEqual([]);
});

it('a retry from the page is taken, says so and leaves the record as it was', async () => {
  const jobId = 'account.open~default~first-account';
  const before = await service.db.selectFrom('records').selectAll().execute();
  await page.goto(`${service.api.url}/queues/queue/operations/${jobId}?status=completed`);
  await page.getByText(jobId).first().waitFor({ state: 'visible' });
  // As its button does, which has no name to find it by: the browser says itself where the request comes from.
  const status = await page.evaluate(
    `fetch('api/queues/operations/${jobId}/retry', { method: 'PUT' }).then((r) => r.status)`,
  );
  expect(status).toBe(204);
  await eventually(async () => {
    const job = await page.evaluate<{ status: string }>(
      `fetch('api/queues/operations/${jobId}').then((r) => r.json())`,
    );
    expect(job.status).toBe('completed');
  });
  expect(await service.db.selectFrom('records').selectAll().execute()).toEqual(before);
  expect(complaints).toEqual([]);
});
