import { randomUUID } from 'node:crypto';
import { mkdir, open, opendir, rename, rm, stat, unlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { FileMissingError } from './file-missing-error.ts';
import { checkFileName } from './file-name.ts';
import type { FileStorage, StoredFile } from './file-storage.ts';

/** Uploaded lists are nobody else's business. */
const folderMode = 0o700;
const fileMode = 0o600;

export function openLocalFileStorage(folder: string): FileStorage {
  // On the same disk as the files, so that a rename makes a whole file of a draft. No file's name begins with a dot.
  const drafts = join(folder, '.drafts');
  const pathOf = (name: string): string => {
    checkFileName(name);
    return join(folder, name);
  };
  const withDraft = async (work: (draft: string) => Promise<void>): Promise<void> => {
    await mkdir(drafts, { recursive: true, mode: folderMode });
    const draft = join(drafts, randomUUID());
    try {
      await work(draft);
    } catch (error) {
      // What failed first is what the caller must hear of. A draft that cannot be deleted waits for removeUnfinished.
      await rm(draft, { force: true }).catch(() => undefined);
      throw error;
    }
  };
  return {
    write: async (name, source) => {
      const path = pathOf(name);
      await withDraft(async (draft) => {
        await writeDurably(draft, source);
        await mkdir(dirname(path), { recursive: true, mode: folderMode });
        await rename(draft, path);
      });
      // A rename is as durable as the folder that it happened in, and a new folder as durable as the one above.
      for (let inner = dirname(name); inner !== '.'; inner = dirname(inner)) await syncFolder(join(folder, inner));
      await syncFolder(folder);
    },
    read: async (name) => await openToRead(pathOf(name), name),
    remove: async (name) => {
      await unlessMissing(unlink(pathOf(name)));
    },
    list: () => listFolder(folder, ''),
    removeUnfinished: async (before) => {
      let removed = 0;
      for await (const draft of listFolder(drafts, '')) {
        if (draft.modifiedAt >= before) continue;
        // Its write may have ended since it was listed.
        if (await unlessMissing(unlink(join(drafts, draft.name)).then(() => true))) removed += 1;
      }
      return removed;
    },
    check: () =>
      withDraft(async (draft) => {
        await writeDurably(draft, [Buffer.of(0)]);
        await unlink(draft);
      }),
    close: () => undefined,
  };
}

/** Takes the next chunk once the last is written, and returns when the disk has them all. */
async function writeDurably(path: string, source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<void> {
  const file = await open(path, 'wx', fileMode);
  try {
    await writeFile(file, source);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

async function openToRead(path: string, name: string): Promise<Readable> {
  const file = await unlessMissing(open(path, 'r'));
  if (!file) throw new FileMissingError(name);
  try {
    // A folder can be opened, but it is no file.
    if (!(await file.stat()).isFile()) throw new FileMissingError(name);
    return file.createReadStream();
  } catch (error) {
    await file.close();
    throw error;
  }
}

async function* listFolder(path: string, prefix: string): AsyncGenerator<StoredFile> {
  const entries = await unlessMissing(opendir(path));
  if (!entries) return;
  for await (const entry of entries) {
    if (entry.name.startsWith('.')) continue;
    const [name, entryPath] = [prefix + entry.name, join(path, entry.name)];
    if (entry.isDirectory()) yield* listFolder(entryPath, `${name}/`);
    // It may have been removed since it was listed.
    const found = entry.isFile() && (await unlessMissing(stat(entryPath)));
    if (found) yield { name, bytes: found.size, modifiedAt: found.mtime };
  }
}

async function unlessMissing<T>(found: Promise<T>): Promise<T | undefined> {
  try {
    return await found;
  } catch (error) {
    // Nothing is there, or a part of the path is a file, or all of it is a folder.
    const missing = ['ENOENT', 'ENOTDIR', 'EISDIR'];
    if (error instanceof Error && 'code' in error && missing.includes(String(error.code))) return undefined;
    throw error;
  }
}
