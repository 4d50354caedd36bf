import parseAddresses from 'nodemailer/lib/addressparser';
import MailComposer from 'nodemailer/lib/mail-composer';
import { MailError } from './mail-error.ts';
import type { MailMessage } from './mail-transport.ts';
import { writeMime } from './write-mime.ts';

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
/** All that a URI is made of (RFC 3986), and none of it can end the angle brackets or needs to be encoded. */
const urlPattern = /^https?:\/\/[\w\-.~:/?#[\]@!$&'()*+,;=%]+$/;
/** The URL stands on one line with its header's name, because folding would break it. */
const maxUrlLength = maxHeaderLength - 'List-Unsubscribe: <>'.length;
/** A lone CR would end a line for some readers and none for others. */
const lineEnd = /\r\n|\r|\n/g;

/** The mail as it goes over the wire. A header that could begin another header is refused, and nothing is repaired. */
export async function composeMail(message: MailMessage): Promise<ComposedMail> {
  for (const name of ['from', 'to', 'subject', 'messageId', 'unsubscribeUrl'] as const) {
    checkHeader(name, message[name] ?? '');
  }
  if (!messageIdPattern.test(message.messageId)) throw refuse('messageId is malformed');
  if (!message.text && !message.html) throw refuse('the mail has neither text nor html');
  const composed = new MailComposer({
    from: readMailbox('from', message.from),
    to: readMailbox('to', message.to),
    subject: message.subject,
    messageId: message.messageId,
    text: message.text?.replaceAll(lineEnd, '\r\n'),
    html: message.html?.replaceAll(lineEnd, '\r\n'),
    headers: headersFor(message.unsubscribeUrl),
    disableFileAccess: true,
    disableUrlAccess: true,
  }).compile();
  const { from, to } = composed.getEnvelope();
  if (!isAddress(from)) throw refuse('from is not an address');
  if (to.length !== 1 || !to.every(isAddress)) throw refuse('to is not one address');
  return { envelope: { from, to }, content: writeMime(composed) };
}

/** Parsed once here, because nodemailer parses a string anew whenever it needs the address. */
function readMailbox(name: string, value: string): { name: string; address: string } {
  const [mailbox, ...others] = parseAddresses(value);
  if (!mailbox?.address || others.length > 0) throw refuse(`${name} is not one address`);
  return { name: mailbox.name, address: mailbox.address };
}

type Header = string | { prepared: true; value: string };

function headersFor(unsubscribeUrl: string | undefined): Record<string, Header> {
  // Tells vacation responders not to answer (RFC 3834).
  if (unsubscribeUrl === undefined) return { 'Auto-Submitted': 'auto-generated' };
  if (!urlPattern.test(unsubscribeUrl) || !URL.canParse(unsubscribeUrl)) throw refuse('unsubscribeUrl is malformed');
  if (unsubscribeUrl.length > maxUrlLength) throw refuse('unsubscribeUrl is too long');
  return {
    // Both are one header to large mail services: without the second they offer no button (RFC 8058).
    'List-Unsubscribe': { prepared: true, value: `<${unsubscribeUrl}>` },
    'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
    // A mailing to people is written by people. Responders keep quiet about bulk mail as well.
    Precedence: 'bulk',
  };
}

function checkHeader(name: string, value: string): void {
  if (/[\p{Cc}\u2028\u2029]/u.test(value)) throw refuse(`${name} has a line break or another control character`);
  if (value.length > maxHeaderLength) throw refuse(`${name} is too long`);
}

function isAddress(value: string | false | undefined): value is string {
  return typeof value === 'string' && value.length <= maxAddressLength && /^[^\s@<>]+@[^\s@<>]+$/.test(value);
}

function refuse(reason: string): MailError {
  return new MailError('not_sent', reason, undefined, 'compose');
}
