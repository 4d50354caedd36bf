import { hkdfSync, randomBytes, randomUUID } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config.ts';

/** What a key is for. Each has one of its own, so that what is signed for one says nothing in another. */
type Purpose = 'webhook secrets' | 'unsubscribe links';

/** A key that is made of SEMEL_SECRET_KEY, or of a file that the first use makes. */
export function openSecretKey(
  config: Pick<Config, 'SEMEL_SECRET_KEY' | 'SEMEL_DATA_DIR'>,
  purpose: Purpose = 'webhook secrets',
): () => Buffer {
  let key: Buffer | undefined;
  return () => {
    key ??= deriveKey(config.SEMEL_SECRET_KEY ?? readKeyFile(config.SEMEL_DATA_DIR), purpose);
    return key;
  };
}

function deriveKey(material: string, purpose: Purpose): Buffer {
  return Buffer.from(hkdfSync('sha256', material, '', `semel ${purpose}`, 32));
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
