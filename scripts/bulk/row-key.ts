import { fingerprintOf } from '../../src/queues/fingerprint.ts';

/** The key of a row that names none: the same content is the same key, in whatever file and in whatever order. */
export function deriveKey(operation: string, request: unknown): string {
  return `row-${fingerprintOf(operation, request)}`;
}
