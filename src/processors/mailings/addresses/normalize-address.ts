import { domainToASCII } from 'node:url';

/** RFC 5321 allows no longer path, local part, domain and label. */
const maxAddressLength = 254;
const maxLocalLength = 64;
const maxDomainLength = 253;
const maxLabelLength = 63;

const dot = 46;
const hyphen = 45;

/** What each ASCII character may be part of. */
const isAtomChar = tableOf("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-/=?^_`{|}~");
const isLabelChar = tableOf('abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-');

/** The address in the one form in which it is stored and compared, or undefined if no mail could go there. */
export function normalizeAddress(text: string): string | undefined {
  if (text.length > maxAddressLength) return undefined;
  const address = text.trim();
  const at = address.indexOf('@');
  if (at < 1 || at > maxLocalLength || !isLocalPart(address, at)) return undefined;
  const domain = toAsciiDomain(address.slice(at + 1));
  if (domain === undefined || !isDomain(domain)) return undefined;
  // The ASCII form of a domain may be longer than what was written.
  if (at + 1 + domain.length > maxAddressLength) return undefined;
  return `${address.slice(0, at).toLowerCase()}@${domain}`;
}

/** Atoms with single dots between them. Quoted local parts are legal, and in practice always a mistake. */
function isLocalPart(address: string, end: number): boolean {
  let previous = dot;
  for (let index = 0; index < end; index += 1) {
    const char = address.charCodeAt(index);
    if (char === dot ? previous === dot : isAtomChar[char] !== 1) return false;
    previous = char;
  }
  return previous !== dot;
}

/**
 * Only what is not ASCII, or claims to stand for it, is handed to domainToASCII; and only with characters that names
 * have, for it decodes percent signs and reads numbers as IPv4 addresses.
 */
function toAsciiDomain(domain: string): string | undefined {
  let isAscii = true;
  for (let index = 0; index < domain.length; index += 1) {
    const char = domain.charCodeAt(index);
    if (char > 127) isAscii = false;
    else if (char !== dot && isLabelChar[char] !== 1) return undefined;
  }
  const lower = domain.toLowerCase();
  if (isAscii && !lower.includes('xn--')) return lower;
  return domainToASCII(lower);
}

function isDomain(domain: string): boolean {
  if (domain.length > maxDomainLength) return false;
  let labelStart = 0;
  let labels = 0;
  let isNumber = true;
  for (let index = 0; index <= domain.length; index += 1) {
    const char = index === domain.length ? dot : domain.charCodeAt(index);
    if (char !== dot) {
      if (isLabelChar[char] !== 1) return false;
      if (char < 48 || char > 57) isNumber = false;
      continue;
    }
    const length = index - labelStart;
    if (length === 0 || length > maxLabelLength) return false;
    if (domain.charCodeAt(labelStart) === hyphen || domain.charCodeAt(index - 1) === hyphen) return false;
    labels += 1;
    // A number at the end is the end of an IPv4 address.
    if (index === domain.length) return labels > 1 && !isNumber;
    labelStart = index + 1;
    isNumber = true;
  }
  return false;
}

function tableOf(chars: string): Uint8Array {
  const table = new Uint8Array(128);
  for (const char of chars) table[char.charCodeAt(0)] = 1;
  return table;
}
