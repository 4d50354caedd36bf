import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';

/** A digest of what is asked for: two requests with the same one ask for the same thing, however they were written. */
export function fingerprintOf(operation: string, request: unknown): string {
  return createHash('sha256')
    .update(`${operation}\n${canonicalize(request)}`)
    .digest('base64url');
}

/** The top-level fields in which two requests differ, in alphabetical order. */
export function differingFieldsOf(one: unknown, other: unknown): string[] {
  const [a, b] = [fieldsOf(one), fieldsOf(other)];
  const names = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...names].filter((name) => canonicalize(a[name]) !== canonicalize(b[name])).sort();
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}
