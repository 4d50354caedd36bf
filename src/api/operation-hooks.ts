import type { AnyOperation } from '../processors/define-operation.ts';
import { listRecords } from '../store/record-queries.ts';
import type { StoredResult } from '../store/results.ts';
import type { ApiParts } from './api-env.ts';

interface Identity {
  client: string;
  subClient: string;
  operation: AnyOperation;
  key: string | undefined;
}

/** Lets the operation refuse a request before it is stored. What was taken before is answered, whatever has changed since. */
export async function admitNew(parts: ApiParts, identity: Identity, request: unknown): Promise<void> {
  const { operation } = identity;
  if (!operation.admit) return;
  try {
    await operation.admit(request, parts.operationHost);
  } catch (error) {
    if (!(await isTaken(parts, identity))) throw error;
  }
}

/** The result as the client sees it, with what is not stored. */
export function presentResult(parts: ApiParts, operation: AnyOperation, result: StoredResult): StoredResult {
  if (!operation.present || result.status !== 'SUCCEEDED' || result.responseBody === null) return result;
  const shown = operation.present(JSON.parse(result.responseBody), parts.operationHost);
  return { ...result, responseBody: JSON.stringify(shown) };
}

async function isTaken(parts: ApiParts, { client, subClient, operation, key }: Identity): Promise<boolean> {
  if (key === undefined) return false;
  const filter = { operation: operation.name, key };
  const [record] = await listRecords(parts.db, { client, subClient }, filter, { limit: 1, before: undefined });
  return record !== undefined && (record.expires_at === null || record.expires_at > new Date());
}
