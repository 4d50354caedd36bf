import { expect, it } from 'vitest';
import { unknownLinkPage } from '../../../src/api/pages/failure-pages.ts';
import { pageHeaders, pageResponse } from '../../../src/api/pages/page-response.ts';

it('a page may load nothing, be framed by nobody, tell its address to nobody and be kept nowhere', () => {
  expect(pageHeaders()).toEqual({
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': expect.any(String),
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
    'x-robots-tag': 'noindex',
  });
  expect(pageHeaders()['content-security-policy']?.split('; ')).toEqual([
    "default-src 'none'",
    expect.stringMatching(/^style-src 'sha256-[A-Za-z0-9+/]{43}='$/),
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ]);
});

it('what one caller adds to the headers is not in those of the next', () => {
  pageHeaders()['set-cookie'] = 'a=b';
  expect(pageHeaders()).not.toHaveProperty('set-cookie');
});

it('an answer is the page with its status, the headers and the id of the request', async () => {
  const response = pageResponse(unknownLinkPage(), 404, 'request-1');
  expect(response.status).toBe(404);
  expect(Object.fromEntries(response.headers)).toEqual({ ...pageHeaders(), 'x-request-id': 'request-1' });
  expect(await response.text()).toBe(unknownLinkPage());
});
