import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { Hono } from 'hono';
import { type ApiContext, type ApiEnv, type ApiParts, headerOf } from '../api-env.ts';
import { docsPolicy, renderDocs } from '../docs-page/render-docs.ts';
import { createDocument } from '../openapi/document.ts';

interface Text {
  plain: string;
  zipped: Buffer;
}

/** What there is, for programs and for people. Open to all: it is the same for everybody. */
export function documentationRoutes({ registry }: Pick<ApiParts, 'registry'>): Hono<ApiEnv> {
  // Made when they are first asked for: most processes never are, and making them costs some milliseconds.
  const document = once(() => createDocument(registry));
  const documentText = once(() => toText(JSON.stringify(document())));
  const pageText = once(() => toText(renderDocs(document())));

  return new Hono<ApiEnv>()
    .get('/openapi.json', async (c) => respond(c, await documentText(), { 'content-type': 'application/json' }))
    .get('/docs', async (c) => {
      const headers = {
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': docsPolicy,
        'referrer-policy': 'no-referrer',
        'x-content-type-options': 'nosniff',
      };
      return respond(c, await pageText(), headers);
    });
}

function respond(c: ApiContext, text: Text, headers: Record<string, string>): Response {
  const isZipped = /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i.test(headerOf(c, 'accept-encoding') ?? '');
  const shared = {
    'x-request-id': c.get('requestId'),
    'cache-control': 'no-cache',
    vary: 'accept-encoding',
    ...headers,
  };
  if (!isZipped) return new Response(text.plain, { headers: shared });
  return new Response(new Uint8Array(text.zipped), { headers: { ...shared, 'content-encoding': 'gzip' } });
}

async function toText(plain: string): Promise<Text> {
  return { plain, zipped: await promisify(gzip)(plain) };
}

function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
