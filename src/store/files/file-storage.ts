import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { ConfigError } from '../../config.ts';
import { openLocalFileStorage } from './local-file-storage.ts';

export { FileMissingError } from './file-missing-error.ts';

export interface StoredFile {
  name: string;
  bytes: number;
  modifiedAt: Date;
}

/** Names look like `mailings/<uuid>.csv`. One that could lead out of the folder is refused by all that take a name. */
export interface FileStorage {
  /** Keeps what the source yields under the name, wholly or not at all: if the source throws, nothing stays. */
  write(name: string, source: AsyncIterable<Uint8Array>): Promise<void>;
  /** Throws FileMissingError. */
  read(name: string): Promise<Readable>;
  /** One that is gone already is fine. */
  remove(name: string): Promise<void>;
  /** For housekeeping: every whole file. */
  list(): AsyncIterable<StoredFile>;
  /** Removes what interrupted writes left behind before the given time, and returns how many there were. */
  removeUnfinished(before: Date): Promise<number>;
  /** Throws unless files can be written; for the health check. */
  check(): Promise<void>;
  close(): void;
}

/** The disk, a quota or the largest file that is allowed; the last two are what S3 servers call it. */
const fullCodes = ['ENOSPC', 'EDQUOT', 'EFBIG', 'QuotaExceeded', 'XMinioStorageFull'];

/** Whether a write failed because there is no room. */
export function isStorageFull(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return fullCodes.includes('code' in error ? String(error.code) : error.name);
}

export interface FileStorageSettings {
  STORAGE_URL: string | undefined;
  SEMEL_DATA_DIR: string;
  S3_ENDPOINT: string | undefined;
}

/** Without STORAGE_URL, files are kept under the data folder. */
export async function openFileStorage(settings: FileStorageSettings): Promise<FileStorage> {
  const { STORAGE_URL: url = 'file:', SEMEL_DATA_DIR: dataDir, S3_ENDPOINT: endpoint } = settings;
  if (url === 'file:') return openLocalFileStorage(join(dataDir, 'files'));
  // Exactly one slash or three, because `file://some/folder` would mean a host named "some".
  if (/^file:(\/\/)?\/[^/]/.test(url)) return openLocalFileStorage(fileURLToPath(url));
  const [, bucket, prefix = ''] = /^s3:\/\/([A-Za-z0-9._-]+)(?:\/([^?#]*))?$/.exec(url) ?? [];
  if (bucket === undefined) throw new ConfigError('STORAGE_URL must be file:/some/folder or s3://bucket/prefix');
  // The SDK is large, and most installations do without it.
  const { openS3FileStorage } = await import('./s3-file-storage.ts');
  return openS3FileStorage({ bucket, prefix, endpoint });
}
