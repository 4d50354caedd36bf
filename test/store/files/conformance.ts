import { randomBytes } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FileMissingError, type FileStorage, type StoredFile } from '../../../src/store/files/file-storage.ts';
import { eventually } from '../../support/eventually.ts';
import { chunksOf, mebibyte, pauseAfter } from './sources.ts';

export interface OpenStorage {
  storage: FileStorage;
  /** The sizes of what writes have begun and not ended, as the storage holds it. */
  measureUnfinished: () => Promise<number[]>;
  /** How much of a source may be in memory: taken from it, and not yet with the storage. */
  maxBytesInMemory: number;
}

/** More than a part, so that a write that pauses near its end has left something with the storage. */
const [bigBytes, pauseBytes] = [12 * mebibyte, 9 * mebibyte];
/** Clocks of files tick every ten milliseconds at the slowest. */
const clockTickMs = 50;

/** What every storage must do. Each test has an empty one. */
export function itKeepsFiles(open: () => Promise<OpenStorage>): void {
  let storage: FileStorage;
  let measureUnfinished: OpenStorage['measureUnfinished'];
  let maxBytesInMemory: number;

  beforeEach(async () => {
    ({ storage, measureUnfinished, maxBytesInMemory } = await open());
  });

  afterEach(() => storage.close());

  const readAll = async (name: string): Promise<Buffer> => await buffer(await storage.read(name));
  const expectContent = async (name: string, content: Buffer): Promise<void> =>
    // Not toEqual, which would print megabytes.
    expect((await readAll(name)).equals(content)).toBe(true);
  const listAll = async (): Promise<StoredFile[]> => {
    const files: StoredFile[] = [];
    for await (const file of storage.list()) files.push(file);
    return files.sort((one, other) => (one.name < other.name ? -1 : 1));
  };
  const expectEmpty = async (): Promise<void> => {
    expect(await listAll()).toEqual([]);
    expect(await measureUnfinished()).toEqual([]);
  };
  /** A write that has left something with the storage and waits for more. */
  const beginWrite = async (name: string, content = randomBytes(bigBytes)) => {
    const unfinished = (await measureUnfinished()).length;
    const source = pauseAfter(pauseBytes, content);
    const written = storage.write(name, source.chunks);
    // Whoever looks at the outcome late is not to be told that nobody did.
    written.catch(() => undefined);
    await source.paused;
    await eventually(async () => expect(await measureUnfinished()).toHaveLength(unfinished + 1));
    return { content, written, goOn: source.goOn };
  };

  describe('what was written is read back byte by byte', () => {
    it.each([0, 1, 65_521, 8 * mebibyte, 8 * mebibyte + 1, 20 * mebibyte])('%i bytes', async (bytes) => {
      const content = randomBytes(bytes);
      await storage.write('mailings/a.csv', chunksOf(content));
      await expectContent('mailings/a.csv', content);
      expect(await listAll()).toEqual([{ name: 'mailings/a.csv', bytes, modifiedAt: expect.any(Date) }]);
      expect(await measureUnfinished()).toEqual([]);
    });

    it('in whatever chunks it came, also in empty ones', async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 50 })), async (chunks) => {
          await storage.write('chunks', toSource(chunks));
          await expectContent('chunks', Buffer.concat(chunks));
        }),
        { numRuns: 30 },
      );
    });

    it('and not what the name held before', async () => {
      await storage.write('a', chunksOf(randomBytes(100_000)));
      await storage.write('a', chunksOf(Buffer.from('short')));
      await expectContent('a', Buffer.from('short'));
    });
  });

  describe('wholly or not at all', () => {
    it.each([0, 1, pauseBytes])('a source that throws after %i bytes leaves nothing', async (bytes) => {
      const failure = new Error('the upload was cut');
      const source = pauseAfter(bytes, randomBytes(bigBytes));
      source.goOn(failure);
      await expect(storage.write('a', source.chunks)).rejects.toBe(failure);
      await expectEmpty();
      await expect(storage.read('a')).rejects.toThrow(FileMissingError);
    });

    it('a source that throws leaves the file of before', async () => {
      const before = Buffer.from('before');
      await storage.write('a', chunksOf(before));
      const { written, goOn } = await beginWrite('a');
      goOn(new Error('the upload was cut'));
      await expect(written).rejects.toThrow('the upload was cut');
      await expectContent('a', before);
      expect(await measureUnfinished()).toEqual([]);
    });

    it('nobody sees half a file while it is written', async () => {
      const { content, written, goOn } = await beginWrite('a');
      await expect(storage.read('a')).rejects.toThrow(FileMissingError);
      expect(await listAll()).toEqual([]);
      goOn();
      await written;
      await expectContent('a', content);
    });

    it('who reads while the file is replaced gets the old one, whole', async () => {
      const old = randomBytes(3 * mebibyte);
      await storage.write('a', chunksOf(old));
      const { content, written, goOn } = await beginWrite('a');
      await expectContent('a', old);
      expect(await listAll()).toMatchObject([{ name: 'a', bytes: old.byteLength }]);
      goOn();
      await written;
      await expectContent('a', content);
    });

    it('two writes under one name at once leave one whole file', async () => {
      const writes = [await beginWrite('a'), await beginWrite('a')];
      for (const { goOn } of writes) goOn();
      await Promise.all(writes.map(({ written }) => written));
      const kept = await readAll('a');
      expect(writes.filter(({ content }) => content.equals(kept))).toHaveLength(1);
      expect(await listAll()).toHaveLength(1);
      expect(await measureUnfinished()).toEqual([]);
    });
  });

  it('a source is taken only as fast as the storage takes it, so that memory stays small', async () => {
    const chunk = randomBytes(mebibyte);
    const inMemory: number[] = [];
    async function* measure(): AsyncGenerator<Buffer> {
      for (let taken = 0; taken < 64; taken += 1) {
        const [stored = 0] = await measureUnfinished();
        inMemory.push(taken * chunk.byteLength - stored);
        yield chunk;
      }
    }
    await storage.write('a', measure());
    expect(Math.max(...inMemory)).toBeLessThanOrEqual(maxBytesInMemory);
    expect(await listAll()).toMatchObject([{ bytes: 64 * mebibyte }]);
  });

  it('a file that is missing cannot be read, and the error says which', async () => {
    await storage.write('mailings/a.csv', chunksOf(Buffer.from('a')));
    for (const name of ['a.csv', 'mailings', 'mailings/b.csv', 'mailings/a.csv/b']) {
      const error = await storage.read(name).catch((reason) => reason);
      expect(error).toBeInstanceOf(FileMissingError);
      expect(error).toMatchObject({ fileName: name });
    }
  });

  it('a removed file is gone, and removing it again is fine', async () => {
    await storage.write('mailings/a.csv', chunksOf(Buffer.from('a')));
    await storage.write('mailings/b.csv', chunksOf(Buffer.from('b')));
    for (const _ of [1, 2]) await storage.remove('mailings/a.csv');
    await storage.remove('never/was/there');
    await expect(storage.read('mailings/a.csv')).rejects.toThrow(FileMissingError);
    expect(await listAll()).toMatchObject([{ name: 'mailings/b.csv' }]);
  });

  it('names that could leave the folder are refused before anything is read', async () => {
    const names = [
      '',
      '.',
      '..',
      '/a',
      'a/',
      'a//b',
      '../a',
      'a/../../b',
      'a/..',
      'a..b',
      '.drafts/a',
      'a/.b',
      '.check',
    ];
    for (const name of [...names, 'A', 'a\\b', 'a\0', 'a\n', 'ä', 'a b', '%2e%2e/a', 'a?b', 'a#b', 'C:a']) {
      const pulled = pauseAfter(0, Buffer.from('a'));
      await expect(storage.write(name, pulled.chunks), name).rejects.toThrow('is not a file name');
      await expect(storage.read(name), name).rejects.toThrow('is not a file name');
      await expect(storage.remove(name), name).rejects.toThrow('is not a file name');
    }
    await expectEmpty();
  });

  it('the list shows every file with its size and time', async () => {
    const startMs = Date.now();
    const sizes: Record<string, number> = { 'a.csv': 1, 'b/c.csv': 0, 'b/d/e.csv': 70_000, 'b/d/f.csv': 2, 'z-1_2': 3 };
    for (const [name, bytes] of Object.entries(sizes)) await storage.write(name, chunksOf(randomBytes(bytes)));
    const files = await listAll();
    expect(Object.fromEntries(files.map(({ name, bytes }) => [name, bytes]))).toEqual(sizes);
    // S3 tells times in whole seconds.
    for (const { modifiedAt } of files) expect(Math.abs(modifiedAt.getTime() - startMs)).toBeLessThan(30_000);
  });

  it('an empty storage lists nothing and has nothing unfinished', async () => {
    expect(await storage.removeUnfinished(new Date())).toBe(0);
    await expectEmpty();
  });

  it('what an interrupted write left is removed; whole files and younger writes stay', async () => {
    await storage.write('whole', chunksOf(Buffer.from('whole')));
    const old = await beginWrite('old');
    const between = await nextTick();
    await nextTick();
    const young = await beginWrite('young');
    expect(await storage.removeUnfinished(between)).toBe(1);
    expect(await storage.removeUnfinished(between)).toBe(0);
    expect(await measureUnfinished()).toHaveLength(1);
    for (const { goOn } of [old, young]) goOn();
    await expect(old.written).rejects.toThrow();
    await young.written;
    await expectContent('young', young.content);
    expect((await listAll()).map(({ name }) => name)).toEqual(['whole', 'young']);
    expect(await storage.removeUnfinished(new Date(Date.now() + 60_000))).toBe(0);
  });

  it('a check passes where files can be written, and leaves nothing', async () => {
    await storage.check();
    await expectEmpty();
  });
}

async function* toSource(chunks: Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* chunks;
}

/** A time that is later than all before and earlier than all after, by the clock of any file. */
async function nextTick(): Promise<Date> {
  const startMs = Date.now();
  await eventually(() => expect(Date.now()).toBeGreaterThan(startMs + clockTickMs));
  return new Date();
}
