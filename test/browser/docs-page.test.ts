import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { testApiKey } from '../support/api.ts';
import { openBrowser } from '../support/browser.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { luminanceOf, measureContrast } from './contrast.ts';

const screens = { phone: { width: 390, height: 844 }, desktop: { width: 1440, height: 900 } } as const;
const routes = Object.entries(inject('openApi').paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, { operationId }]) => ({ id: operationId, method: method.toUpperCase(), path })),
);

let service: TestService;
let browser: Browser;
let page: Page;
let complaints: string[] = [];
let requests: string[] = [];

beforeAll(async () => {
  service = await startTestService();
  browser = await openBrowser();
  const context = await browser.newContext();
  page = await context.newPage();
  page.on('console', (message) => complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('request', (request) => requests.push(request.url()));
});

afterAll(() => service.close());

async function visit(anchor = '', screen: keyof typeof screens = 'desktop', colorScheme: 'light' | 'dark' = 'light') {
  complaints = [];
  requests = [];
  await page.setViewportSize(screens[screen]);
  await page.emulateMedia({ colorScheme });
  // Elsewhere first, so that an anchor is a visit of its own and not a jump.
  await page.goto('about:blank');
  await page.goto(`${service.api.url}/docs${anchor}`);
}

describe('the reference', () => {
  it('shows every route of the document, with a sample of a request', async () => {
    await visit();
    const shown = await page.evaluate<{ id: string; route: string; sample: string }[]>(`
      [...document.querySelectorAll('.route')].map((section) => ({
        id: section.id,
        route: section.querySelector('.method').textContent + ' ' + section.querySelector('.line code').textContent,
        sample: section.querySelector('.sample pre').textContent,
      }))`);
    expect(shown.map(({ id, route }) => ({ id, route })).sort(byId)).toEqual(
      routes.map(({ id, method, path }) => ({ id, route: `${method} ${path}` })).sort(byId),
    );
    expect(shown.filter(({ sample }) => !sample.startsWith(`curl `))).toEqual([]);
  });

  it('asks nobody but its own server, and that only once', async () => {
    await visit();
    expect(requests.filter((url) => url.startsWith('http'))).toEqual([`${service.api.url}/docs`]);
    expect(complaints).toEqual([]);
  });

  it('opens with a curl that works when it is pasted', async () => {
    await visit();
    const command = await page.locator('#start pre code').textContent();
    expect(command).toContain(service.api.url);
    const environment = { ...process.env, SEMEL_API_KEY: testApiKey };
    const { stdout } = await promisify(execFile)('sh', ['-c', command ?? ''], { env: environment });
    expect(stdout).toMatch(/^HTTP\/1\.1 20[12]/);
  });

  it('has links that lead somewhere', async () => {
    await visit();
    const broken = await page.evaluate<string[]>(`
      [...document.querySelectorAll('a[href^="#"]')].map((link) => link.hash.slice(1))
        .filter((id) => !document.getElementById(id))`);
    expect(broken).toEqual([]);
    const ids = await page.evaluate<string[]>(`[...document.querySelectorAll('[id]')].map(({ id }) => id)`);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it.each(['phone', 'desktop'] as const)('a link to a route opens there, on a %s', async (screen) => {
    await visit('#post-v1-transfers', screen);
    await expect.poll(() => topOf('post-v1-transfers')).toBeLessThan(100);
    expect(await topOf('post-v1-transfers')).toBeGreaterThanOrEqual(0);
  });

  it('is searched by words of a route, its path and its codes', async () => {
    await visit();
    const search = async (words: string) => {
      await page.locator('#search').fill(words);
      return await page.evaluate<string[]>(
        `[...document.querySelectorAll('.route:not([hidden])')].map(({ id }) => id)`,
      );
    };
    expect(await search('insufficient_funds')).toEqual(['post-v1-transfers', 'post-v1-operations-transfer.create']);
    expect(await search('open account')).toContain('post-v1-accounts');
    expect(await page.locator('.group:visible').count()).toBeLessThan(4);
    expect(await search('nothing like that')).toEqual([]);
    expect(await page.locator('#none').isVisible()).toBe(true);
    await page.keyboard.press('Escape');
    expect(await page.locator('.route:visible').count()).toBe(routes.length);
    await page.keyboard.press('/');
    expect(await page.evaluate('document.activeElement.id')).toBe('search');
  });

  it('a link shows its target also if the search had hidden it', async () => {
    await visit();
    await page.locator('#search').fill('insufficient_funds');
    await page.locator('#post-v1-transfers a[href="#problem-INSUFFICIENT_FUNDS"]').click();
    await page.locator('#problem-INSUFFICIENT_FUNDS').waitFor({ state: 'visible' });
    expect(complaints).toEqual([]);
  });
});

describe.each(['light', 'dark'] as const)('in the %s scheme', (scheme) => {
  it.each(['phone', 'desktop'] as const)('on a %s, it fits and reads well', async (screen) => {
    await visit('', screen, scheme);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(screens[screen].width);
    const texts = await measureContrast(page);
    expect(texts.length).toBeGreaterThan(1_000);
    expect(texts.filter(({ contrast }) => contrast < 4.5)).toEqual([]);
    const ground = await page.evaluate<string>('getComputedStyle(document.body).backgroundColor');
    if (scheme === 'light') expect(luminanceOf(ground)).toBeGreaterThan(0.8);
    else expect(luminanceOf(ground)).toBeLessThan(0.05);
  });
});

it('without a script, everything is still there to read', async () => {
  const context = await browser.newContext({ javaScriptEnabled: false });
  const plain = await context.newPage();
  await plain.goto(`${service.api.url}/docs`);
  expect(await plain.locator('.route').count()).toBe(routes.length);
  await context.close();
});

const byId = (a: { id: string }, b: { id: string }): number => a.id.localeCompare(b.id);

async function topOf(id: string): Promise<number> {
  return await page.evaluate<number>(`document.getElementById('${id}').getBoundingClientRect().top`);
}
