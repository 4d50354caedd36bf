import { hkdfSync, randomBytes, randomUUID } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../config.ts';

/** The key that webhook secrets are made with: from SEMEL_SECRET_KEY, or from a file that the first use makes. */
export function openSecretKey(config: Pick<Config, 'SEMEL_SECRET_KEY' | 'SEMEL_DATA_DIR'>): () => Buffer {
  let key: Buffer | undefined;
  return () => {
    key ??= deriveKey(config.SEMEL_SECRET_KEY ?? readKeyFile(config.SEMEL_DATA_DIR));
    return key;
  };
}

function deriveKey(material: string): Buffer {
  return Buffer.from(hkdfSync('sha256', material, '', 'semel webhook secrets', 32));
}

/** Of several processes that begin at once, one makes the file and all read it. */
function readKeyFile(dataDir: string): string {
  const path = join(dataDir, 'secret.key');
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
  }
  mkdirSync(dataDir, { recursive: true });
  // Written whole under another name and linked: a reader never sees half a key, and a link never replaces a file.
  const draft = `${path}.${randomUUID()}`;
  writeFileSync(draft, `${randomBytes(32).toString('base64url')}\n`, { mode: 0o600, flag: 'wx' });
  try {
    linkSync(draft, path);
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error;
  } finally {
    rmSync(draft, { force: true });
  }
  return readFileSync(path, 'utf8').trim();
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
