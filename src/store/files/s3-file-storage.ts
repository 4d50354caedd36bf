import { Readable } from 'node:stream';
import {
  AbortMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  ListMultipartUploadsCommand,
  type ListMultipartUploadsCommandInput,
  type ListMultipartUploadsCommandOutput,
  type MultipartUpload,
  NoSuchKey,
  NoSuchUpload,
  paginateListObjectsV2,
  S3Client,
} from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { FileMissingError } from './file-missing-error.ts';
import { checkFileName, isFileName } from './file-name.ts';
import type { FileStorage, StoredFile } from './file-storage.ts';

export interface S3Location {
  bucket: string;
  /** What the names of all files begin with in the bucket, if anything. */
  prefix: string;
  /** Of a server other than Amazon's. */
  endpoint: string | undefined;
}

/** S3 takes ten thousand parts, so these make files of up to 78 GiB. */
const partBytes = 8 * 1024 * 1024;
/** One part goes out while the next comes in. Each more would cost another part of memory for each write. */
const partsAtOnce = 2;
/** Of the upload that is begun to see whether files can be written. No file is named so. */
const checkName = '.check';

/** Region and credentials come from where the SDK finds them: the AWS variables, a profile or the machine's role. */
export function openS3FileStorage({ bucket, prefix, endpoint }: S3Location): FileStorage {
  const client = openClient(endpoint);
  const folders = prefix.split('/').filter(Boolean);
  const keyPrefix = folders.map((folder) => `${folder}/`).join('');
  const keyOf = (name: string): { Bucket: string; Key: string } => {
    checkFileName(name);
    return { Bucket: bucket, Key: keyPrefix + name };
  };
  return {
    write: async (name, source) => await writeInParts(client, keyOf(name), source),
    read: async (name) => {
      const { Body } = await client.send(new GetObjectCommand(keyOf(name))).catch((error) => {
        throw error instanceof NoSuchKey ? new FileMissingError(name, { cause: error }) : error;
      });
      if (!(Body instanceof Readable)) throw new Error(`S3 answered without a stream for ${name}`);
      return Body;
    },
    remove: async (name) => {
      await client.send(new DeleteObjectCommand(keyOf(name)));
    },
    list: () => listObjects(client, bucket, keyPrefix),
    removeUnfinished: async (before) => {
      let removed = 0;
      for await (const { Key, UploadId, Initiated } of listUploads(client, bucket, keyPrefix)) {
        // S3 knows when an upload began, and not when its last part came.
        if (Initiated === undefined || Initiated >= before) continue;
        if (await abortUpload(client, { Bucket: bucket, Key, UploadId })) removed += 1;
      }
      return removed;
    },
    check: async () => {
      // Needs the rights of a write, and leaves neither an object nor, in a bucket with versions, an old version.
      const key = { Bucket: bucket, Key: keyPrefix + checkName };
      const { UploadId } = await client.send(new CreateMultipartUploadCommand(key));
      await abortUpload(client, { ...key, UploadId });
    },
    close: () => client.destroy(),
  };
}

function openClient(endpoint: string | undefined): S3Client {
  return new S3Client({
    ...(endpoint !== undefined && { endpoint, forcePathStyle: true }),
    // Many servers that speak S3 do not know the checksums that the SDK would add by itself.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      // A connection takes milliseconds; one that takes this long is not coming.
      connectionTimeout: 5_000,
      // A part gets through in this time on a line of two megabits. The SDK then tries again, three times in all.
      requestTimeout: 60_000,
      throwOnRequestTimeout: true,
      // A reader may pause while its own work is slow; whoever is silent for longer than this is gone.
      socketTimeout: 600_000,
    },
  });
}

/** The object appears when its last part is in, whole. A failure aborts the upload, which deletes the parts. */
async function writeInParts(
  client: S3Client,
  key: { Bucket: string; Key: string },
  source: AsyncIterable<Uint8Array>,
): Promise<void> {
  let sourceFailure: { error: unknown } | undefined;
  const watched = watchSource(source, (error) => {
    sourceFailure = { error };
  });
  const body = Readable.from(watched);
  const upload = new Upload({ client, params: { ...key, Body: body }, partSize: partBytes, queueSize: partsAtOnce });
  try {
    await upload.done();
  } catch (error) {
    // If the upload could not be aborted, that is what is thrown, but what failed first is what the caller must hear.
    throw sourceFailure ? sourceFailure.error : error;
  } finally {
    body.destroy();
  }
}

/** By hand, because a `for await` would also catch what its consumer throws into it to make it stop. */
async function* watchSource(
  source: AsyncIterable<Uint8Array>,
  onFailure: (error: unknown) => void,
): AsyncGenerator<Uint8Array> {
  const chunks = source[Symbol.asyncIterator]();
  const takeNext = async () =>
    await chunks.next().catch((error: unknown) => {
      onFailure(error);
      throw error;
    });
  try {
    for (let next = await takeNext(); !next.done; next = await takeNext()) yield next.value;
  } finally {
    await chunks.return?.();
  }
}

async function* listObjects(client: S3Client, bucket: string, keyPrefix: string): AsyncGenerator<StoredFile> {
  for await (const page of paginateListObjectsV2({ client }, { Bucket: bucket, Prefix: keyPrefix })) {
    for (const { Key = '', Size: bytes, LastModified: modifiedAt } of page.Contents ?? []) {
      const name = Key.slice(keyPrefix.length);
      // A bucket may hold what others put there.
      if (isFileName(name) && bytes !== undefined && modifiedAt) yield { name, bytes, modifiedAt };
    }
  }
}

/** With a prefix, MinIO lists only the uploads of that exact key, and so none here; it deletes them after a day. */
async function* listUploads(client: S3Client, bucket: string, keyPrefix: string): AsyncGenerator<MultipartUpload> {
  let input: ListMultipartUploadsCommandInput = { Bucket: bucket, Prefix: keyPrefix };
  for (;;) {
    const page: ListMultipartUploadsCommandOutput = await client.send(new ListMultipartUploadsCommand(input));
    // A bucket may hold what others are about to put there.
    for (const upload of page.Uploads ?? []) if (isOurs(upload.Key?.slice(keyPrefix.length))) yield upload;
    if (!page.IsTruncated) return;
    input = { ...input, KeyMarker: page.NextKeyMarker, UploadIdMarker: page.NextUploadIdMarker };
  }
}

function isOurs(name: string | undefined): boolean {
  return name !== undefined && (isFileName(name) || name === checkName);
}

/** False if it was gone already: its write has ended meanwhile. */
async function abortUpload(
  client: S3Client,
  upload: { Bucket: string; Key: string | undefined; UploadId: string | undefined },
): Promise<boolean> {
  try {
    await client.send(new AbortMultipartUploadCommand(upload));
    return true;
  } catch (error) {
    if (error instanceof NoSuchUpload) return false;
    throw error;
  }
}
