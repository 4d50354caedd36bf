import { describe, expect, it } from 'vitest';
import { composeMail } from '../../../src/store/mail/compose-mail.ts';

const message = {
  from: 'Semel <no-reply@localhost>',
  to: 'ops@example.com',
  subject: '1 operation failed',
  text: 'text',
  messageId: '<alert.1@localhost>',
};

describe('a header that could begin another one is refused', () => {
  const endings = ['\r\nBcc: victim@example.com', '\nBcc: victim@example.com', '\rX: y', '\0', '\u2028', '\u001b[2J'];
  const cases = (['from', 'to', 'subject', 'messageId'] as const).flatMap((name) =>
    endings.map((ending) => ({ name, ending })),
  );

  it.each(cases)('$name with $ending', async ({ name, ending }) => {
    const hostile = { ...message, [name]: `${message[name]}${ending}` };
    await expect(composeMail(hostile)).rejects.toMatchObject({ name: 'MailError', outcome: 'not_sent' });
  });
});

describe('an address that is not one is refused', () => {
  it.each([
    '',
    'nobody',
    'a@example.com, b@example.com',
    'Group: a@example.com, b@example.com;',
    `${'a'.repeat(250)}@example.com`,
    `a@${'b'.repeat(1_000_000)}`,
  ])('%s', async (to) => {
    await expect(composeMail({ ...message, to })).rejects.toMatchObject({ name: 'MailError', outcome: 'not_sent' });
  });
});

it.each(['alert.1@localhost', '<../../etc/passwd@localhost>', '<a b@localhost>', '<@>', '<a@b><c@d>'])(
  'a Message-ID that could name another file is refused: %s',
  async (messageId) => {
    await expect(composeMail({ ...message, messageId })).rejects.toMatchObject({ outcome: 'not_sent' });
  },
);
