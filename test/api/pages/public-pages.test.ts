import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { unavailablePage, unknownLinkPage } from '../../../src/api/pages/failure-pages.ts';
import { pageHeaders } from '../../../src/api/pages/page-response.ts';
import { unsubscribedPage, unsubscribePage } from '../../../src/api/pages/unsubscribe-pages.ts';
import { verifiedPage } from '../../../src/api/pages/verified-page.ts';

const visitor = { email: 'ada@example.com', sender: 'Engines & Sons' };
const verifiedAt = new Date('2026-03-04T05:06:07Z');
const action = '/u/token';

/** Every page with the values in it, where it takes any. */
const renderAll = (values: { email: string; sender: string; action: string }): Record<string, string> => ({
  verified: verifiedPage({ ...values, verifiedAt }),
  unknown: unknownLinkPage(),
  unsubscribe: unsubscribePage(values),
  unsubscribed: unsubscribedPage(values),
  unavailable: unavailablePage(),
});
const pages = Object.entries(renderAll({ ...visitor, action }));

const hostile = [
  '"><script>alert(1)</script>',
  "' onfocus='alert(1)' autofocus='",
  '</title></style></main><img src=x onerror=alert(1)>',
  '&lt;script&gt;',
  '<!-- @ -->',
];

/** What is left when the texts are taken out: the elements of a page and their attributes' names, in order. */
const skeletonOf = (html: string): string[] =>
  [...html.matchAll(/<(\/?[!a-z][a-z0-9]*)((?:\s+[a-z-]+(?:="[^"]*")?)*)\s*\/?>/gi)].map(
    ([, name = '', attributes = '']) => name + attributes.replaceAll(/="[^"]*"/g, ''),
  );

describe('a value of somebody else’s', () => {
  it.each(hostile)('adds no element and no attribute to any page: %s', (value) => {
    const attacked = renderAll({ email: value, sender: value, action: value });
    for (const [name, harmless] of pages) {
      const page = attacked[name] ?? '';
      expect(skeletonOf(page)).toEqual(skeletonOf(harmless));
      // No bracket is left that the skeleton does not account for.
      expect(page.split('<')).toHaveLength(harmless.split('<').length);
      expect(page).not.toContain('<script');
    }
  });

  it('is shown, escaped once', () => {
    for (const page of [verifiedPage({ ...visitor, verifiedAt }), unsubscribedPage(visitor)]) {
      expect(page).toContain('<bdi>Engines &amp; Sons</bdi>');
    }
    expect(unsubscribedPage({ ...visitor, sender: '&lt;' })).toContain('<bdi>&amp;lt;</bdi>');
  });
});

describe.each(pages)('the page %s', (_, page) => {
  it('is a whole document in English that fits a phone, with one heading, which is its title', () => {
    expect(page).toMatch(/^<!doctype html>\n<html lang="en">/);
    expect(page).toContain('<meta name="viewport" content="width=device-width, initial-scale=1">');
    const [, title] = /<title>(.+)<\/title>/.exec(page) ?? [];
    expect([...page.matchAll(/<h1>(.+)<\/h1>/g)].map(([, heading]) => heading)).toEqual([title]);
  });

  it('has one style, which is the one that the policy names', () => {
    const styles = [...page.matchAll(/<style>(.*?)<\/style>/gs)].map(([, style = '']) => style);
    expect(styles).toHaveLength(1);
    const hash = createHash('sha256').update(styles.join()).digest('base64');
    expect(pageHeaders()['content-security-policy']).toContain(`style-src 'sha256-${hash}';`);
    expect(page).not.toMatch(/\sstyle=/);
  });

  it('has no script and loads nothing', () => {
    expect(page).not.toMatch(/<script|<link|<img|<iframe|\ssrc=|url\(|@import|https?:|\son[a-z]+=/i);
  });
});

describe('the page that asks', () => {
  it('posts to the action, by its one button and with nothing else in the form', () => {
    const page = unsubscribePage({ ...visitor, action: '/u/to"ken?a=1&b=2' });
    expect(page).toContain(
      '<form method="post" action="/u/to&quot;ken?a=1&amp;b=2">' +
        '<button class="button" type="submit">Unsubscribe</button></form>',
    );
    expect([...page.matchAll(/<(form|button|input|a)\b/g)].map(([, name]) => name)).toEqual(['form', 'button']);
  });

  it('is the only one with a form', () => {
    expect(pages.filter(([, page]) => page.includes('<form')).map(([name]) => name)).toEqual(['unsubscribe']);
  });
});

it('the confirmation names the moment, with its time zone', () => {
  const page = verifiedPage({ ...visitor, verifiedAt });
  expect(page).toContain('<time datetime="2026-03-04T05:06:07.000Z">4 March 2026 at 05:06 UTC</time>');
});

it('a mailbox is in the page whole, whatever it looks like', () => {
  for (const email of ['ada@example.com', '"a@b"@example.com', 'no-at-sign', '@', '']) {
    const [, shown = ''] =
      /<p class="mailbox"><bdi>(.*)<\/bdi><\/p>/.exec(unsubscribedPage({ ...visitor, email })) ?? [];
    expect(shown.replace('<wbr>', '').replaceAll('&quot;', '"')).toBe(email);
  }
});
