import { z } from 'zod';
import { AppError } from '../../errors.ts';
import type { AnyOperation } from '../../processors/define-operation.ts';
import type { Registry } from '../../processors/registry.ts';
import { checkKey } from '../idempotency-key.ts';
import { parseJson, validate } from '../read-json.ts';

const envelope = z.strictObject({
  operation: z.string(),
  /** Left out or null where the operation needs none. */
  key: z.string().nullish(),
  request: z.unknown(),
});

export type Envelope = z.infer<typeof envelope>;

/** What a line asks for, as it was written. */
export function readEnvelope(text: string): Envelope {
  return validate(envelope, parseJson(text, 'line'));
}

export interface CheckedLine {
  operation: AnyOperation;
  key: string | undefined;
  request: unknown;
}

/** The same checks as those of a request of its own. */
export function checkEnvelope(registry: Registry, { operation: name, key, request }: Envelope): CheckedLine {
  const operation = registry.get(name);
  if (!operation) throw new AppError('NOT_FOUND', 'There is no such operation.');
  if (key !== undefined && key !== null) checkKey(operation, key);
  else if (operation.key.required) throw new AppError('IDEMPOTENCY_KEY_REQUIRED', `${name} needs a key.`);
  return { operation, key: key ?? undefined, request: validate(operation.request, request) };
}
