import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { pauseAfter } from '../../src/queues/webhooks/backoff.ts';
import { deriveSecret, signatureHeaders } from '../../src/queues/webhooks/signing.ts';
import { openSecretKey } from '../../src/store/secret-key.ts';

let dir: string;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'semel-secret-'));
});

afterEach(() => rm(dir, { recursive: true, force: true }));

const keyOf = (more: { SEMEL_SECRET_KEY?: string; SEMEL_DATA_DIR?: string } = {}) =>
  openSecretKey({ SEMEL_DATA_DIR: dir, SEMEL_SECRET_KEY: undefined, ...more })().toString('hex');

it('the key file is made at the first use, for its owner alone, and read from then on', async () => {
  const dataDir = join(dir, 'new', 'folder');
  const first = keyOf({ SEMEL_DATA_DIR: dataDir });
  const path = join(dataDir, 'secret.key');
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect(await readdir(dataDir)).toEqual(['secret.key']);
  expect(first).not.toContain(Buffer.from((await readFile(path, 'utf8')).trim(), 'base64url').toString('hex'));
  expect(keyOf({ SEMEL_DATA_DIR: dataDir })).toBe(first);
  expect(keyOf()).not.toBe(first);
});

it('opening makes nothing before the key is needed', async () => {
  openSecretKey({ SEMEL_DATA_DIR: dir, SEMEL_SECRET_KEY: undefined });
  expect(await readdir(dir)).toEqual([]);
});

it('a key file that was there is never replaced', async () => {
  await writeFile(join(dir, 'secret.key'), 'somebody wrote this key before us\n');
  await chmod(join(dir, 'secret.key'), 0o400);
  expect(keyOf()).toBe(keyOf({ SEMEL_SECRET_KEY: 'somebody wrote this key before us' }));
});

it('with SEMEL_SECRET_KEY there is no file, and another key gives other secrets', async () => {
  const [one, two] = ['a', 'b'].map((letter) => keyOf({ SEMEL_SECRET_KEY: letter.repeat(32) }));
  expect(one).not.toBe(two);
  expect(await readdir(dir)).toEqual([]);
});

it('each webhook and version has a secret of its own, which an independent signer uses alike', () => {
  const key = Buffer.alloc(32, 7);
  const secrets = [deriveSecret(key, 'a', 1), deriveSecret(key, 'a', 2), deriveSecret(key, 'b', 1)];
  expect(new Set(secrets).size).toBe(3);
  expect(deriveSecret(key, 'a', 1)).toBe(secrets[0]);
  const timestamp = new Date();
  const headers = signatureHeaders(
    { id: 'evt', timestampSeconds: Math.floor(timestamp.getTime() / 1000), body: '{"ü":1}' },
    secrets.slice(0, 2),
  );
  const expected = secrets.slice(0, 2).map((secret) => new Webhook(secret).sign('evt', timestamp, '{"ü":1}'));
  expect(headers['webhook-signature']).toBe(expected.join(' '));
});

it('pauses grow by the list and are up to a fifth longer, and after the last there is none', () => {
  const delaysMs = [1_000, 10_000];
  expect([1, 2, 3].map((attempt) => pauseAfter(attempt, delaysMs, () => 0))).toEqual([1_000, 10_000, null]);
  expect(pauseAfter(2, delaysMs, () => 0.999)).toBeLessThanOrEqual(12_000);
  expect(pauseAfter(2, delaysMs, () => 0.5)).toBe(11_000);
});
