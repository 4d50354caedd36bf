import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { unavailablePage, unknownLinkPage } from '../../src/api/pages/failure-pages.ts';
import { unsubscribedPage, unsubscribePage } from '../../src/api/pages/unsubscribe-pages.ts';
import { verifiedPage } from '../../src/api/pages/verified-page.ts';
import { openBrowser } from '../support/browser.ts';
import { luminanceOf, measureContrast } from './contrast.ts';
import { type PageServer, servePages } from './page-server.ts';

const visitor = { email: 'ada.lovelace@example.com', sender: 'Analytical Engines Ltd' };
// The longest address there may be, without a place to break, and a name that would be a tag.
const awkward = { email: `${'a'.repeat(242)}@example.com`, sender: `<b onclick="alert(1)">${'x'.repeat(200)}` };
const verifiedAt = new Date('2026-03-04T05:06:07Z');

const documents = {
  'GET /verified': verifiedPage({ ...visitor, verifiedAt }),
  'GET /verified-awkward': verifiedPage({ ...awkward, verifiedAt }),
  'GET /unknown': unknownLinkPage(),
  'GET /unsubscribe': unsubscribePage({ ...visitor, action: '/unsubscribe' }),
  'GET /unsubscribe-awkward': unsubscribePage({ ...awkward, action: '/unsubscribe' }),
  'POST /unsubscribe': unsubscribedPage(visitor),
  'GET /unsubscribed': unsubscribedPage(visitor),
  'GET /unavailable': unavailablePage(),
};
const paths = Object.keys(documents).flatMap((name) => (name.startsWith('GET ') ? [name.slice(4)] : []));
const screens = { phone: { width: 390, height: 844 }, desktop: { width: 1280, height: 800 } } as const;
const schemes = ['light', 'dark'] as const;

let server: PageServer;
let page: Page;
/** What the page in view complained about; refusals by its own policy are among it. */
let complaints: string[] = [];

beforeAll(async () => {
  server = await servePages(documents);
  const browser = await openBrowser();
  page = await browser.newPage();
  page.on('console', (message) => complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(error.message));
});

afterAll(() => server.close());

async function visit(path: string, screen: keyof typeof screens, colorScheme: 'light' | 'dark'): Promise<void> {
  await page.setViewportSize(screens[screen]);
  await page.emulateMedia({ colorScheme });
  complaints = [];
  await page.goto(server.url + path);
}

describe.each(schemes)('in the %s scheme', (scheme) => {
  describe.each(['phone', 'desktop'] as const)('on a %s', (screen) => {
    it.each(paths)('%s fits, reads well and breaks no policy of its own', async (path) => {
      await visit(path, screen, scheme);
      await page.getByRole('heading', { level: 1 }).waitFor({ state: 'visible' });
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(screens[screen].width);

      const texts = await measureContrast(page);
      expect(texts.length).toBeGreaterThan(1);
      // AA of the WCAG for text of any size.
      expect(texts.filter(({ contrast }) => contrast < 4.5)).toEqual([]);
      expect(complaints).toEqual([]);
    });
  });

  it('the ground is as bright as the visitor likes it', async () => {
    await visit('/verified', 'phone', scheme);
    const ground = await page.evaluate<string>('getComputedStyle(document.body).backgroundColor');
    if (scheme === 'light') expect(luminanceOf(ground)).toBeGreaterThan(0.8);
    else expect(luminanceOf(ground)).toBeLessThan(0.05);
  });
});

it('the whole mailbox and the sender are shown as they are written', async () => {
  await visit('/verified-awkward', 'phone', 'light');
  expect(await page.locator('.mailbox').textContent()).toBe(awkward.email);
  expect(await page.locator('main').textContent()).toContain(awkward.sender);
});

it('opening the page unsubscribes nobody; Tab reaches its button, and Enter does it', async () => {
  const before = server.requests.length;
  await visit('/unsubscribe', 'phone', 'light');
  await page.keyboard.press('Tab');
  expect(await page.evaluate('document.activeElement.textContent')).toBe('Unsubscribe');
  expect(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')).toBe('solid');
  expect(server.requests.slice(before)).toEqual(['GET /unsubscribe']);

  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'You are unsubscribed' }).waitFor({ state: 'visible' });
  expect(server.requests.slice(before)).toEqual(['GET /unsubscribe', 'POST /unsubscribe']);
  expect(complaints).toEqual([]);
});

it('the button is large enough for a thumb', async () => {
  await visit('/unsubscribe', 'phone', 'light');
  const box = await page.getByRole('button').boundingBox();
  // The larger of the sizes that WCAG asks for is 44 pixels.
  expect(box?.height).toBeGreaterThanOrEqual(44);
  expect(box?.width).toBeGreaterThanOrEqual(44);
});

it('a page that says to try again is opened again from the keyboard', async () => {
  const before = server.requests.length;
  await visit('/unavailable', 'phone', 'light');
  await page.keyboard.press('Tab');
  await Promise.all([page.waitForRequest(`${server.url}/unavailable`), page.keyboard.press('Enter')]);
  await page.getByRole('link', { name: 'Try again' }).waitFor({ state: 'visible' });
  expect(server.requests.slice(before)).toEqual(['GET /unavailable', 'GET /unavailable']);
});

it('the policy of the pages refuses a style or a script that is not theirs', async () => {
  await visit('/verified', 'phone', 'light');
  await page.evaluate(`document.body.insertAdjacentHTML('beforeend', '<img src="/x.png" style="color: red">')`);
  await page.evaluate(`document.body.append(Object.assign(document.createElement('script'), { text: 'seen = 1' }))`);
  expect(await page.evaluate('typeof seen')).toBe('undefined');
  expect(complaints.filter((text) => text.includes('Content Security Policy')).length).toBeGreaterThanOrEqual(3);
});
