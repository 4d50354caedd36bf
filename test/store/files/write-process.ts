import { openFileStorage } from '../../../src/store/files/file-storage.ts';

/** Writes so many bytes and says what became of it: <data folder> <bytes>. */
const [dataDir = '', bytes] = process.argv.slice(2);
let outcome = 'source open';

async function* yieldChunks(): AsyncGenerator<Buffer> {
  try {
    for (let left = Number(bytes); left > 0; left -= 65_536) yield Buffer.alloc(65_536, 'x');
  } finally {
    outcome = 'source closed';
  }
}

const storage = await openFileStorage({ STORAGE_URL: undefined, SEMEL_DATA_DIR: dataDir, S3_ENDPOINT: undefined });
const error: unknown = await storage.write('mailings/a.csv', yieldChunks()).catch((reason: unknown) => reason);
const code = error instanceof Error && 'code' in error ? error.code : 'written';
process.stdout.write(`${code}, ${outcome}`);
