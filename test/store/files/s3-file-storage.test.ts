import { randomUUID } from 'node:crypto';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { type FileStorage, openFileStorage } from '../../../src/store/files/file-storage.ts';
import { eventually } from '../../support/eventually.ts';
import { itKeepsFiles } from './conformance.ts';
import { type S3Server, s3KeyPair, startS3Server } from './s3-server.ts';
import { chunksOf, mebibyte, pauseAfter } from './sources.ts';

let server: S3Server;
let bucket: string;

beforeAll(async () => {
  // The SDK reads these by itself.
  for (const [name, value] of Object.entries({ ...s3KeyPair, AWS_REGION: 'us-east-1' })) vi.stubEnv(name, value);
  server = await startS3Server();
});

beforeEach(async () => {
  bucket = `semel-${randomUUID()}`;
  await server.createBucket(bucket);
});

afterAll(async () => {
  vi.unstubAllEnvs();
  await server.close();
});

const open = (path = ''): Promise<FileStorage> =>
  openFileStorage({ STORAGE_URL: `s3://${bucket}${path}`, SEMEL_DATA_DIR: 'unused', S3_ENDPOINT: server.endpoint });

async function listNames(storage: FileStorage): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of storage.list()) names.push(name);
  return names;
}

const partBytes = 8 * mebibyte;
/** Two parts, and what was taken to know that the last of them is full. */
const maxBytesInMemory = 2 * partBytes + 2 * mebibyte;
const bigContent = Buffer.alloc(12 * mebibyte, 'x');
/** After more than a part, so that there is an upload. */
const pauseBytes = partBytes + mebibyte;

async function beginWrites(storage: FileStorage, names: readonly string[]) {
  const writes = names.map((name) => {
    const source = pauseAfter(pauseBytes, bigContent);
    return { goOn: source.goOn, outcome: storage.write(name, source.chunks).catch((error: unknown) => error) };
  });
  await eventually(async () => expect(await server.listUnfinished(bucket)).toHaveLength(names.length));
  return writes;
}

describe('files in a bucket', () => {
  itKeepsFiles(async () => ({
    storage: await open('/lists'),
    measureUnfinished: async () => (await server.listUnfinished(bucket)).map(({ bytes }) => bytes),
    maxBytesInMemory,
  }));
});

describe('a prefix', () => {
  it.each(['/one/two', '/one/two/', '//one//two'])(
    'written as %s is where the files are, and all that is seen',
    async (path) => {
      const [whole, inside, beside] = [await open(), await open(path), await open('/one/twofold')];
      await inside.write('mailings/a.csv', chunksOf(Buffer.from('inside')));
      await beside.write('mailings/a.csv', chunksOf(Buffer.from('beside')));
      expect(await listNames(inside)).toEqual(['mailings/a.csv']);
      expect((await listNames(whole)).sort()).toEqual(['one/two/mailings/a.csv', 'one/twofold/mailings/a.csv']);
      await inside.remove('mailings/a.csv');
      expect(await text(await beside.read('mailings/a.csv'))).toBe('beside');
    },
  );

  it('keeps the unfinished writes of others from being removed', async () => {
    const [inside, beside] = [await open('/one'), await open('/other')];
    const [write] = await beginWrites(beside, ['a']);
    expect(await inside.removeUnfinished(new Date(Date.now() + 60_000))).toBe(0);
    write?.goOn();
    expect(await write?.outcome).toBeUndefined();
  });
});

it('all unfinished writes are removed, also when they fill several pages', async () => {
  const storage = await open('/lists');
  const writes = await beginWrites(storage, ['a', 'a', 'a', 'b', 'c']);
  expect(await storage.removeUnfinished(new Date(Date.now() + 60_000))).toBe(5);
  expect(await server.listUnfinished(bucket)).toEqual([]);
  for (const { goOn } of writes) goOn();
  for (const { outcome } of writes) expect(await outcome).toMatchObject({ name: 'NoSuchUpload' });
  expect(await listNames(storage)).toEqual([]);
});

describe('when the server refuses', () => {
  beforeEach(() => () => server.refusals.clear());

  it('a part, the write fails, the source is closed and nothing is left', async () => {
    server.refusals.add('parts');
    const storage = await open();
    const chunks = chunksOf(Buffer.alloc(64 * mebibyte));
    await expect(storage.write('a', chunks)).rejects.toMatchObject({ name: 'AccessDenied' });
    expect(await chunks.next()).toEqual({ done: true, value: undefined });
    expect(await listNames(storage)).toEqual([]);
    expect(await server.listUnfinished(bucket)).toEqual([]);
  });

  it('to abort, the caller hears why the write failed, and what is left is removed later', async () => {
    server.refusals.add('aborts');
    const storage = await open();
    const [failure, [write]] = [new Error('the upload was cut'), await beginWrites(storage, ['a'])];
    write?.goOn(failure);
    expect(await write?.outcome).toBe(failure);
    server.refusals.clear();
    expect(await storage.removeUnfinished(new Date(Date.now() + 60_000))).toBe(1);
  });

  it('to begin or to end an upload, a check fails', async () => {
    const missing = await openFileStorage({
      STORAGE_URL: 's3://no-such-bucket',
      SEMEL_DATA_DIR: 'unused',
      S3_ENDPOINT: server.endpoint,
    });
    await expect(missing.check()).rejects.toMatchObject({ name: 'NoSuchBucket' });
    server.refusals.add('aborts');
    await expect((await open()).check()).rejects.toMatchObject({ name: 'AccessDenied' });
  });
});

it('a server that does not answer stops the source after two parts', async () => {
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  server.beforePart = () => released;
  let taken = 0;
  async function* countTaken(): AsyncGenerator<Buffer> {
    for await (const chunk of chunksOf(Buffer.alloc(64 * mebibyte), mebibyte)) {
      taken += chunk.byteLength;
      yield chunk;
    }
  }
  const storage = await open();
  const written = storage.write('a', countTaken());
  let takenBefore = 0;
  const expectStop = () => {
    const sinceLastLook = taken - takenBefore;
    takenBefore = taken;
    expect(sinceLastLook).toBe(0);
    expect(taken).toBeGreaterThanOrEqual(2 * partBytes);
  };
  try {
    // A part is filled in a few milliseconds: if nothing was taken between two looks, the source is stopped.
    await eventually(expectStop, { intervalMs: 250 });
    expect(taken).toBeLessThanOrEqual(maxBytesInMemory);
  } finally {
    server.beforePart = () => undefined;
    release();
    await written;
  }
});

it('no request carries checksums that older servers do not know', async () => {
  const storage = await open();
  server.requests.length = 0;
  await storage.write('small', chunksOf(Buffer.from('small')));
  await storage.write('big', chunksOf(bigContent));
  await text(await storage.read('small'));
  expect(server.requests.length).toBeGreaterThan(4);
  const names = new Set(server.requests.flatMap((headers) => Object.keys(headers)));
  expect([...names].filter((name) => /checksum|trailer/.test(name))).toEqual([]);
});
