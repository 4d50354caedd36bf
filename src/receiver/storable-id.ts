import { createHash } from 'node:crypto';
import { MissingIdError } from './errors.ts';

/** Longer ids are hashed. Every store takes keys of this length, and they fit on a line of a log. */
const longestReadableId = 200;

const hashPrefix = 'sha256:';
const readable = /^[\x21-\x7e]+$/;

/**
 * What stands for an id in the stores. Short printable ones stay as they are; all others become a digest. An id that
 * looks like a digest is hashed as well, so no two ids share a name.
 */
export function storableIdOf(id: string): string {
  if (id.length <= longestReadableId && readable.test(id) && !id.startsWith(hashPrefix)) return id;
  // UTF-16, because UTF-8 writes all unpaired surrogates alike.
  return `${hashPrefix}${createHash('sha256').update(Buffer.from(id, 'utf16le')).digest('hex')}`;
}

const namespacePattern = /^[A-Za-z0-9._~/@-]{1,100}$/;

/** Without a colon, which separates it from the id in the stores. */
export function checkNamespace(namespace: string): string {
  if (namespacePattern.test(namespace)) return namespace;
  throw new RangeError(`A namespace has 1 to 100 characters of A-Z a-z 0-9 . _ ~ / @ -, unlike "${namespace}".`);
}

export type IdValue = string | number | bigint | null | undefined;

/** The id as text, or undefined if there is none. */
export function toIdText(value: IdValue): string | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value === 'number' && !Number.isFinite(value)) throw new MissingIdError(`${value} is no id.`);
  return String(value);
}
