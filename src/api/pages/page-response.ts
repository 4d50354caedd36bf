import { createHash } from 'node:crypto';
import { pageStyle } from './page-style.ts';

const styleHash = createHash('sha256').update(pageStyle).digest('base64');

// The pages have no script and load nothing, so a value that got through unescaped could do nothing either.
const contentSecurityPolicy = [
  "default-src 'none'",
  `style-src 'sha256-${styleHash}'`,
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ');

/** The addresses of these pages are secrets and the pages are personal: neither is to be passed on or kept. */
export function pageHeaders(): Record<string, string> {
  return {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': contentSecurityPolicy,
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
    'x-robots-tag': 'noindex',
  };
}

export function pageResponse(html: string, status: number, requestId: string): Response {
  return new Response(html, { status, headers: { ...pageHeaders(), 'x-request-id': requestId } });
}
