import MailComposer from 'nodemailer/lib/mail-composer';
import { MailError } from './mail-error.ts';
import type { MailMessage } from './mail-transport.ts';

export interface ComposedMail {
  envelope: { from: string; to: string[] };
  content: Buffer;
}

/** RFC 5321 allows no longer address. */
const maxAddressLength = 254;
/** RFC 5322 allows no longer line; a header of Semel has one. */
const maxHeaderLength = 998;
/** What Semel makes its ids of. It leaves out the slash, because a captured mail is named by its id. */
const messageIdPattern = /^<[A-Za-z0-9._+-]{1,100}@[A-Za-z0-9.-]{1,100}>$/;

/** The mail as it goes over the wire. A header that could begin another header is refused, and nothing is repaired. */
export async function composeMail(message: MailMessage): Promise<ComposedMail> {
  for (const name of ['from', 'to', 'subject', 'messageId'] as const) checkHeader(name, message[name]);
  if (!messageIdPattern.test(message.messageId)) throw new MailError('not_sent', 'messageId is malformed');
  const composed = new MailComposer({
    ...message,
    // Tells vacation responders not to answer (RFC 3834).
    headers: { 'Auto-Submitted': 'auto-generated' },
    newline: 'win',
    disableFileAccess: true,
    disableUrlAccess: true,
  }).compile();
  const { from, to } = composed.getEnvelope();
  if (!isAddress(from)) throw new MailError('not_sent', 'from is not an address');
  if (to.length !== 1 || !to.every(isAddress)) throw new MailError('not_sent', 'to is not one address');
  return { envelope: { from, to }, content: await composed.build() };
}

function checkHeader(name: string, value: string): void {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for.
  if (/[\u0000-\u001f\u007f\u2028\u2029]/.test(value)) {
    throw new MailError('not_sent', `${name} has a line break or another control character`);
  }
  if (value.length > maxHeaderLength) throw new MailError('not_sent', `${name} is too long`);
}

function isAddress(value: string | false | undefined): value is string {
  return typeof value === 'string' && value.length <= maxAddressLength && /^[^\s@]+@[^\s@]+$/.test(value);
}
