import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { composeMail } from '../../../src/store/mail/compose-mail.ts';
import { MailError } from '../../../src/store/mail/mail-error.ts';
import { parseMail } from './parse-mail.ts';

const message = {
  from: 'Semel <no-reply@localhost>',
  to: 'ops@example.com',
  subject: '1 operation failed',
  text: 'text',
  messageId: '<alert.1@localhost>',
};
const unsubscribeUrl = 'https://lists.example/u/abc?list=1&to=2%40x';
const mailing = { ...message, unsubscribeUrl };
const refusal = { name: 'MailError', outcome: 'not_sent', stage: 'compose' };
const compose = async (...parameters: Parameters<typeof composeMail>) =>
  parseMail((await composeMail(...parameters)).content);

describe('a header that could begin another one is refused', () => {
  const endings = [
    '\r\nBcc: victim@example.com',
    '\nBcc: victim@example.com',
    '\rX: y',
    '\t',
    '\0',
    '\u007f',
    '\u0085',
    '\u2028',
    '\u2029',
    '\u001b[2J',
  ];
  const cases = (['from', 'to', 'subject', 'messageId', 'unsubscribeUrl'] as const).flatMap((name) =>
    endings.map((ending) => ({ name, ending })),
  );

  it.each(cases)('$name with $ending', async ({ name, ending }) => {
    const hostile = { ...mailing, [name]: `${mailing[name]}${ending}` };
    await expect(composeMail(hostile)).rejects.toMatchObject(refusal);
  });
});

describe('an address that is not one is refused', () => {
  it.each([
    '',
    'nobody',
    'a@example.com, b@example.com',
    'Group: a@example.com, b@example.com;',
    'Group: a@example.com;',
    `${'a'.repeat(250)}@example.com`,
    `a@${'b'.repeat(1_000_000)}`,
  ])('%#', async (address) => {
    await expect(composeMail({ ...message, to: address })).rejects.toMatchObject(refusal);
    await expect(composeMail({ ...message, from: address })).rejects.toMatchObject(refusal);
  });
});

it.each(['alert.1@localhost', '<../../etc/passwd@localhost>', '<a b@localhost>', '<@>', '<a@b><c@d>'])(
  'a Message-ID that could name another file is refused: %s',
  async (messageId) => {
    await expect(composeMail({ ...message, messageId })).rejects.toMatchObject(refusal);
  },
);

it.each([
  'mailto:leave@example.com',
  'https://lists.example/a> , <https://evil.example/',
  'https://lists.example/a b',
  'https://lists.example/ü',
  'https://',
  'javascript:alert(1)',
  '',
  `https://lists.example/${'a'.repeat(998)}`,
])('an unsubscribe URL that is none is refused: %#', async (url) => {
  await expect(composeMail({ ...message, unsubscribeUrl: url })).rejects.toMatchObject(refusal);
});

describe('what a mail says of itself', () => {
  it('a mail of the machine asks that no machine answers', async () => {
    const { headers } = await compose(message);
    expect(headers.get('auto-submitted')).toBe('auto-generated');
    expect([...headers.keys()].filter((name) => /^(list-|precedence)/.test(name))).toEqual([]);
  });

  it('a mailing is bulk mail that one click ends', async () => {
    const { headers } = await compose(mailing);
    expect(Object.fromEntries(headers)).toMatchObject({
      'list-unsubscribe': `<${unsubscribeUrl}>`,
      'list-unsubscribe-post': 'List-Unsubscribe=One-Click',
      precedence: 'bulk',
    });
    expect(headers.has('auto-submitted')).toBe(false);
  });

  it('the longest URL stays on one line', async () => {
    const longest = `https://lists.example/${'a'.repeat(956)}`;
    const { content } = await composeMail({ ...mailing, unsubscribeUrl: longest });
    expect(content.toString()).toContain(`List-Unsubscribe: <${longest}>\r\n`);
    await expect(composeMail({ ...mailing, unsubscribeUrl: `${longest}a` })).rejects.toMatchObject(refusal);
  });
});

describe('text and HTML', () => {
  const text = 'Grüße\n.\nund ein Punkt';
  const html = `<p>Gr&uuml;&szlig;e — ${'long '.repeat(300)}</p>\r\n<p>ende</p>`;
  const { text: _text, ...empty } = message;

  it('both are alternatives, the text first, because readers show the last one that they understand', async () => {
    const { content } = await composeMail({ ...message, text, html });
    const mail = parseMail(content);
    expect(mail.headers.get('content-type')).toMatch(/^multipart\/alternative;/);
    expect(mail.text.trimEnd()).toBe(text);
    expect(mail.html?.trimEnd()).toBe(html.replaceAll('\r\n', '\n'));
    expect(content.indexOf('text/plain')).toBeLessThan(content.indexOf('text/html'));
  });

  it('HTML alone is one part', async () => {
    const mail = await compose({ ...empty, html });
    expect(mail.headers.get('content-type')).toMatch(/^text\/html/);
    expect(mail.html?.trimEnd()).toBe(html.replaceAll('\r\n', '\n'));
    expect(mail.text).toBe('');
  });

  it.each([{}, { text: '' }, { text: '', html: '' }, { text: undefined }])(
    'nothing is refused: %o',
    async (nothing) => {
      await expect(composeMail({ ...empty, ...nothing })).rejects.toMatchObject(refusal);
    },
  );

  it('whatever the text is, it arrives, and each line ends with CRLF', async () => {
    const texts = fc.string({ unit: 'grapheme', minLength: 1 }).map((value) => value.replaceAll('\0', ''));
    const bodies = fc.array(fc.oneof(texts, fc.constantFrom('\n', '\r', '\r\n', '.', '--', ' ')), { minLength: 1 });
    await fc.assert(
      fc.asyncProperty(bodies, bodies, async (some, others) => {
        const [plain, rich] = [`x${some.join('')}`, `x${others.join('')}`];
        const mail = await compose({ ...message, text: plain, html: rich });
        const expected = (value: string) => value.replaceAll(/\r\n?/g, '\n').trimEnd();
        expect([mail.text.trimEnd(), mail.html?.trimEnd()]).toEqual([expected(plain), expected(rich)]);
      }),
    );
  });
});

it('no string in any header makes another header', async () => {
  const hostile = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string({ unit: 'grapheme' }),
    fc.string({
      unit: fc.constantFrom('\r', '\n', '\t', ' ', ':', ',', ';', '<', '>', '"', '\\', '(', '@', 'a', 'é', '='),
    }),
    fc.constantFrom('\r\nBcc: v@example.com', '\ud800', '=?utf-8?Q?=0D=0ABcc:_v?=', '\r\n\r\nbody', ' '.repeat(80)),
  );
  const around = (valid: string) =>
    fc.oneof(
      fc.constant(valid),
      hostile,
      hostile.map((end) => valid + end),
      hostile.map((start) => start + valid),
    );
  const mails = fc.record({
    from: around('Semel <no-reply@localhost>'),
    to: around('ops@example.com'),
    subject: around('Hello'),
    unsubscribeUrl: around(unsubscribeUrl),
  });
  const always = ['content-transfer-encoding', 'content-type', 'date', 'from', 'list-unsubscribe'];
  const expected = [...always, 'list-unsubscribe-post', 'message-id', 'mime-version', 'precedence', 'subject', 'to'];
  let composed = 0;
  await fc.assert(
    fc.asyncProperty(mails, async (values) => {
      const outcome = await composeMail({ ...message, ...values }).catch((error: unknown) => error);
      if (outcome instanceof MailError) {
        expect(outcome).toMatchObject(refusal);
        return;
      }
      if (outcome instanceof Error) throw outcome;
      composed += 1;
      const { content, envelope } = outcome as Awaited<ReturnType<typeof composeMail>>;
      const { headers, text } = parseMail(content);
      // A subject of nothing but spaces is left out.
      const names = values.subject.trim()
        ? expected
        : expected.filter((name) => name !== 'subject' || headers.has(name));
      expect([...headers.keys()].sort()).toEqual(names);
      expect(headers.get('list-unsubscribe')).toBe(`<${values.unsubscribeUrl}>`);
      expect(text.trimEnd()).toBe('text');
      expect(envelope.to).toHaveLength(1);
      expect(`${envelope.from}${envelope.to}`).not.toMatch(/[\s<>]/);
    }),
    { numRuns: 3_000 },
  );
  expect(composed).toBeGreaterThan(100);
});
