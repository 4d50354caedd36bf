import { randomInt } from 'node:crypto';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { StartError } from './start-error.ts';

export interface Credentials {
  readonly apiKey: string;
  readonly adminPassword: string;
}

/** Those of the environment, else those made at the first start and kept in the data folder for its owner alone. */
export function readOrMakeCredentials(dataDir: string, environment: NodeJS.ProcessEnv): Credentials {
  const file = join(dataDir, 'credentials.json');
  const given = { apiKey: environment.SEMEL_API_KEY, adminPassword: environment.SEMEL_ADMIN_PASSWORD };
  if (!existsSync(file)) {
    const made: Credentials = { apiKey: `semel_${randomBase62(32)}`, adminPassword: randomBase62(20) };
    writeFileSync(file, `${JSON.stringify(made, undefined, 2)}\n`, { mode: 0o600, flag: 'wx' });
  }
  // Somebody may have copied the folder with a tool that forgets modes.
  chmodSync(file, 0o600);
  const kept = parse(file);
  return { apiKey: given.apiKey || kept.apiKey, adminPassword: given.adminPassword || kept.adminPassword };
}

function parse(file: string): Credentials {
  try {
    const { apiKey, adminPassword }: Partial<Credentials> = JSON.parse(readFileSync(file, 'utf8'));
    if (typeof apiKey === 'string' && typeof adminPassword === 'string') return { apiKey, adminPassword };
  } catch {
    // Falls through to the same line as a file that parses and lacks something.
  }
  throw new StartError(`${file} is damaged: delete it, and new credentials are made.`);
}

function randomBase62(length: number): string {
  const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
  return Array.from({ length }, () => digits.charAt(randomInt(digits.length))).join('');
}
