import { checkEnvelope } from '../../src/api/bulk/read-line.ts';
import type { AnyOperation } from '../../src/processors/define-operation.ts';
import type { Counts } from './counts.ts';
import type { SendParts } from './send-file.ts';

const maxShown = 3;

/** Checks rows as the service would, and shows what the first ones look like. Nothing is sent. */
export function toNobody(operation: AnyOperation, counts: Counts, show: (line: string) => void): SendParts['send'] {
  const registry = new Map([[operation.name, operation]]);
  let shown = 0;
  return async (rows, onRefusal) => {
    for (const row of rows) {
      const line = { operation: operation.name, key: row.key, request: row.request };
      try {
        checkEnvelope(registry, line);
        counts.created += 1;
        if (shown < maxShown) show(JSON.stringify(line));
        shown += 1;
      } catch (error) {
        counts.refused += 1;
        const { code = 'INVALID_REQUEST', message } = error as Error & { code?: string };
        onRefusal({ row, code, reason: message });
      }
    }
    return true;
  };
}
