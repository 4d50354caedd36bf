import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { StartError } from '../start/start-error.ts';
import type { BulkOptions } from './options.ts';

export interface Service {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Where to send, and as whom: what was said, else what `npm start` left in the data folder. */
export function findService(root: string, options: BulkOptions, environment: NodeJS.ProcessEnv): Service {
  const dataDir = resolve(root, environment.SEMEL_DATA_DIR || '.semel');
  const apiKey = environment.SEMEL_API_KEY || readNote(join(dataDir, 'credentials.json')).apiKey;
  if (apiKey === undefined) throw new StartError('There is no API key: set SEMEL_API_KEY.');
  const running = readNote(join(dataDir, 'running.json')).url;
  const configured = `http://${environment.HOST || '127.0.0.1'}:${environment.PORT || '3000'}`;
  return {
    url: options.url ?? running ?? configured,
    headers: {
      authorization: `Bearer ${apiKey}`,
      ...(options.clientId !== undefined && { 'x-client-id': options.clientId }),
    },
  };
}

/** One look before anything is sent: a wrong address or key is told at once and not after minutes of trying. */
export async function checkService({ url, headers }: Service): Promise<void> {
  let answer: Response;
  try {
    answer = await fetch(`${url}/v1/operations?limit=1`, { headers, signal: AbortSignal.timeout(10_000) });
  } catch {
    throw new StartError(`Nothing answers at ${url}. Is Semel running there? Say where it is with --url.`);
  }
  const text = await answer.text();
  // It is there, and busy: that is what retries are for.
  if (answer.ok || answer.status === 429 || answer.status >= 500) return;
  throw new StartError(`${url} says: ${detailOf(text) ?? `status ${answer.status}`}`);
}

export function detailOf(problem: string): string | undefined {
  try {
    const { detail } = JSON.parse(problem) as { detail?: unknown };
    return typeof detail === 'string' ? detail : undefined;
  } catch {
    return undefined;
  }
}

function readNote(file: string): { apiKey?: string; url?: string } {
  try {
    return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
  } catch {
    throw new StartError(`${file} cannot be read.`);
  }
}
