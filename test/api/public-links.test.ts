import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ensureApiKey } from '../../src/store/api-keys.ts';
import { type SmtpSink, startSmtpSink } from '../store/mail/smtp-sink.ts';
import { eventually } from '../support/eventually.ts';
import { mailingWith, newMailing, uploadCsv } from '../support/mailings.ts';
import { startTestService, type TestService } from '../support/service.ts';

let sink: SmtpSink;
let service: TestService;

beforeAll(async () => {
  sink = await startSmtpSink();
  service = await startTestService({
    environment: { MAIL_URL: `${sink.url}?ignoreTLS=true`, PUBLIC_URL: 'https://mail.example/base/' },
  });
});

afterAll(async () => {
  await service.close();
  await sink.close();
});

/** Mails an address and returns the paths of the links in its mail, as they are below PUBLIC_URL. */
async function mail(email: string) {
  const id = await newMailing(service.api, `email\n${email}\n`, { fields: { text: 'Confirm: {{verifyUrl}}' } });
  await mailingWith(service.api, id, 'COMPLETED');
  const received = sink.mails.findLast((each) => each.recipients.includes(email));
  const [, verify = ''] = /https:\/\/mail\.example\/base(\/v\/\S+)/.exec(received?.text ?? '') ?? [];
  const header = received?.headers.get('list-unsubscribe') ?? '';
  const [, unsubscribe = ''] = /^<https:\/\/mail\.example\/base(\/u\/[^>]+)>$/.exec(header) ?? [];
  return { id, verify, unsubscribe, received };
}

/** As a person's browser would: without any key. */
const visit = (path: string, method = 'GET') => fetch(`${service.api.url}${path}`, { method });
const verifiedAtOf = async (id: string) =>
  (await service.api.get(`/v1/mailings/${id}/entries`)).body.items[0].verifiedAt;

describe('a verification link', () => {
  it('confirms the address, shows a page, and stays the same when it is opened again', async () => {
    const { id, verify } = await mail('ada@example.com');
    expect(await verifiedAtOf(id)).toBeNull();
    const first = await visit(verify);
    expect(first.status).toBe(200);
    expect(first.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(first.headers.get('content-security-policy')).toMatch(/default-src 'none'/);
    expect((await first.text()).replaceAll(/<[^>]*>/g, '')).toContain('ada@example.com');
    const verifiedAt = await verifiedAtOf(id);
    expect(verifiedAt).toEqual(expect.any(String));
    expect((await visit(verify)).status).toBe(200);
    expect(await verifiedAtOf(id)).toBe(verifiedAt);
    // A last character that stands for the same bits and is not the one in the link.
    const last = 'ABQRghwx'.match(`${verify.at(-1)}(.)`)?.[1];
    expect((await visit(`${verify.slice(0, -1)}${last}`)).status).toBe(404);
  });

  it.each(['x', 'A'.repeat(22), '%00', '..%2f..', 'A'.repeat(5_000), "'; drop table mailings --"])(
    'that nobody was given is a page that says so: %s',
    async (token) => {
      const answer = await visit(`/v/${encodeURIComponent(token)}`);
      expect(answer.status).toBe(404);
      expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
    },
  );
});

describe('an unsubscribe link', () => {
  it('asks first, and only a POST unsubscribes; the next mailing passes the address over', async () => {
    const { id, unsubscribe, received } = await mail('grace@example.com');
    expect(received?.headers.get('list-unsubscribe-post')).toBe('List-Unsubscribe=One-Click');
    const asked = await visit(unsubscribe);
    expect(asked.status).toBe(200);
    const [, action = ''] = /<form[^>]*method="post"[^>]*action="([^"]*)"/.exec(await asked.text()) ?? [];
    expect(new URL(action, `https://mail.example/base${unsubscribe}`).pathname).toBe(`/base${unsubscribe}`);
    expect((await service.api.get('/v1/suppressions')).body.items).toEqual([]);

    const done = await visit(unsubscribe, 'POST');
    expect(done.status).toBe(200);
    expect((await visit(unsubscribe, 'POST')).status).toBe(200);
    expect((await service.api.get('/v1/suppressions')).body.items).toMatchObject([
      { email: 'grace@example.com', reason: 'unsubscribed', mailingId: id },
    ]);
    const count = sink.mails.length;
    const next = await newMailing(service.api, 'email\nGrace@Example.com\n', { fields: { subject: 'Again' } });
    expect((await mailingWith(service.api, next, 'COMPLETED')).totals).toMatchObject({ suppressed: 1, sent: 0 });
    expect(sink.mails).toHaveLength(count);
  });

  it('with a wrong signature, or that of another link, unsubscribes nobody', async () => {
    const [one, two] = [await mail('one@example.com'), await mail('two@example.com')];
    const [token, signature = ''] = one.unsubscribe.split('.');
    const forged = [
      token,
      `${token}.`,
      `${token}.${'A'.repeat(signature.length)}`,
      `${token}.${two.unsubscribe.split('.')[1]}`,
      one.verify.replace('/v/', '/u/'),
    ];
    for (const path of forged) expect((await visit(path ?? '', 'POST')).status, path).toBe(404);
    const { items } = (await service.api.get('/v1/suppressions')).body;
    expect(items.map((item: { email: string }) => item.email)).toEqual(['grace@example.com']);
  });
});

describe('the suppression list', () => {
  it('takes addresses by hand, in any spelling, and gives them back', async () => {
    const added = await service.api.post('/v1/suppressions', { email: ' Bob@Bücher.example ' });
    expect(added.body).toMatchObject({ email: 'bob@xn--bcher-kva.example', reason: 'added', mailingId: null });
    expect((await service.api.post('/v1/suppressions', { email: 'nobody' })).body.code).toBe('INVALID_REQUEST');
    const path = `/v1/suppressions/${encodeURIComponent('bob@bücher.example')}`;
    expect((await service.api.send('DELETE', path)).status).toBe(204);
    expect((await service.api.send('DELETE', path)).status).toBe(404);
  });

  it('is the client’s own: what another client suppresses is mailed all the same', async () => {
    const other = { apiKey: 'key-of-another-client' };
    await ensureApiKey(service.db, other.apiKey, { client: 'other', scopes: ['operate'] });
    expect((await service.api.post('/v1/suppressions', { email: 'shared@example.com' }, other)).status).toBe(200);
    expect((await service.api.get('/v1/suppressions', other)).body.items).toHaveLength(1);
    const path = '/v1/suppressions/shared@example.com';
    expect((await service.api.send('DELETE', path)).status).toBe(404);
    const mine = await newMailing(service.api, 'email\nshared@example.com\n');
    expect((await mailingWith(service.api, mine, 'COMPLETED')).totals).toMatchObject({ sent: 1, suppressed: 0 });
    const theirs = await uploadCsv(service.api, 'email\nshared@example.com\n', other);
    await eventually(async () => {
      const { body } = await service.api.get(`/v1/mailings/${theirs.body.mailingId}`, other);
      expect(body).toMatchObject({ status: 'COMPLETED', totals: { sent: 0, suppressed: 1 } });
    });
  });

  it('is listed page by page, each address once', async () => {
    for (const name of ['a', 'b', 'c']) await service.api.post('/v1/suppressions', { email: `${name}@page.example` });
    const first = (await service.api.get('/v1/suppressions?limit=2')).body;
    expect(first.items).toHaveLength(2);
    const rest = (await service.api.get(`/v1/suppressions?limit=200&cursor=${first.nextCursor}`)).body;
    const all = [...first.items, ...rest.items].map((item) => item.email);
    expect(all).toEqual(['a@page.example', 'b@page.example', 'c@page.example', 'grace@example.com']);
    expect(rest.nextCursor).toBeNull();
  });

  it('is listed page by page also after an address as long as they get', async () => {
    const long = `0${'a'.repeat(62)}@${`${'d'.repeat(60)}.`.repeat(3)}example`;
    expect((await service.api.post('/v1/suppressions', { email: long })).status).toBe(200);
    const first = (await service.api.get('/v1/suppressions?limit=1')).body;
    expect(first.items[0].email).toBe(long);
    expect((await service.api.get(`/v1/suppressions?cursor=${first.nextCursor}`)).status).toBe(200);
  });
});
