import { createHmac, timingSafeEqual } from 'node:crypto';

/** The addresses that are in a mail. Tokens are 32 hexadecimal digits inside, and base64url outside. */
export interface MailLinks {
  verifyUrl(token: string): string;
  unsubscribeUrl(token: string): string;
}

export function createMailLinks(publicUrl: string, key: () => Buffer): MailLinks {
  return {
    verifyUrl: (token) => `${publicUrl}/v/${encodeToken(token)}`,
    unsubscribeUrl: (token) => `${publicUrl}/u/${encodeToken(token)}.${sign(token, key())}`,
  };
}

export function encodeToken(token: string): string {
  return Buffer.from(token.replaceAll('-', ''), 'hex').toString('base64url');
}

/** The token of a link, or undefined if it cannot be one. A token is written in one way only: the last bits are zero. */
export function decodeToken(text: string): string | undefined {
  return /^[A-Za-z0-9_-]{21}[AQgw]$/.test(text) ? Buffer.from(text, 'base64url').toString('hex') : undefined;
}

/** The token of an unsubscribe link that Semel has signed. Whoever has only a verify link cannot unsubscribe anybody. */
export function readUnsubscribeToken(text: string, key: Buffer): string | undefined {
  const [encoded = '', signature = ''] = text.split('.', 2);
  const token = decodeToken(encoded);
  if (token === undefined) return undefined;
  const [given, right] = [Buffer.from(signature), Buffer.from(sign(token, key))];
  return given.length === right.length && timingSafeEqual(given, right) ? token : undefined;
}

/** Half of the digest is 128 bits, which nobody guesses, and keeps the link short. */
function sign(token: string, key: Buffer): string {
  return createHmac('sha256', key).update(token.replaceAll('-', '')).digest().subarray(0, 16).toString('base64url');
}
