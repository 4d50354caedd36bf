import { randomUUID } from 'node:crypto';
import { mkdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { removeFiles } from '../../../src/queues/housekeeping/remove-files.ts';
import { type FileStorage, openFileStorage } from '../../../src/store/files/file-storage.ts';
import { openTestStores, type TestStores, testDataDir } from '../../support/service.ts';

let stores: TestStores;
let storage: FileStorage;
const dataDir = testDataDir();
const running = new AbortController().signal;
const dayMs = 86_400_000;

beforeAll(async () => {
  stores = await openTestStores();
  storage = await openFileStorage({ STORAGE_URL: undefined, SEMEL_DATA_DIR: dataDir, S3_ENDPOINT: undefined });
});

afterAll(async () => {
  storage.close();
  await stores.close();
});

/** A file that was written so many days ago. */
async function write(name: string, days: number): Promise<string> {
  const path = join(dataDir, 'files', name);
  await mkdir(join(path, '..'), { recursive: true });
  await writeFile(path, 'email\nada@example.com\n');
  const time = new Date(Date.now() - days * dayMs);
  await utimes(path, time, time);
  return name;
}

const newName = () => `mailings/${randomUUID()}.csv`;

async function addMailing(fileName: string, status: string, overDays: number | null): Promise<void> {
  await sql`
    insert into mailings (id, client, filename, content_hash, keyed, status, file_name, file_bytes, format, subject, sender, completed_at)
    values (gen_random_uuid(), 'default', ${fileName}, 'h', true, ${status}, ${fileName}, 1, '{}', 's', 'f',
      now() - make_interval(days => ${overDays}::integer))`.execute(stores.db);
}

async function listNames(): Promise<string[]> {
  const names: string[] = [];
  for await (const file of storage.list()) names.push(file.name);
  return names.sort();
}

it('files that nobody needs go; those of mailings that may be read, young ones and strange ones stay', async () => {
  const kept = [
    await write(newName(), 6),
    await write('mailings/list-of-somebody.csv', 400),
    await write('backup/2020.csv', 400),
  ];
  for (const status of ['QUEUED', 'INGESTING', 'SENDING', 'PAUSED']) {
    const name = await write(newName(), 400);
    await addMailing(name, status, null);
    kept.push(name);
  }
  for (const status of ['COMPLETED', 'FAILED', 'CANCELLED']) {
    const [old, young] = [await write(newName(), 400), await write(newName(), 400)];
    await addMailing(old, status, 31);
    await addMailing(young, status, 29);
    kept.push(young);
  }
  await write(newName(), 8);
  await write(`.drafts/${randomUUID()}`, 1);
  const counts = await removeFiles({ db: stores.db, storage }, running);
  expect(counts).toEqual({ unfinished: 1, orphaned: 1, over: 3 });
  expect(await listNames()).toEqual(kept.sort());
  expect(await removeFiles({ db: stores.db, storage }, running)).toEqual({ unfinished: 0, orphaned: 0, over: 0 });
});

it('two runs at once do not stumble over each other', async () => {
  for (let n = 0; n < 40; n += 1) await write(newName(), 8);
  const runs = await Promise.all([1, 2].map(() => removeFiles({ db: stores.db, storage }, running)));
  expect(runs.reduce((sum, run) => sum + (run.orphaned ?? 0), 0)).toBeGreaterThanOrEqual(40);
  expect(await removeFiles({ db: stores.db, storage }, running)).toMatchObject({ orphaned: 0 });
});
