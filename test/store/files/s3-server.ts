import { createHash, randomUUID } from 'node:crypto';
import { createWriteStream, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, stat } from 'node:fs/promises';
import type { IncomingHttpHeaders } from 'node:http';
import { dirname, join } from 'node:path';
import { type Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import S3rver, { type Context, type Received } from 's3rver';
import { testDataDir } from '../../support/service.ts';

export interface UnfinishedUpload {
  id: string;
  key: string;
  begunAt: Date;
  bytes: number;
}

export interface S3Server {
  endpoint: string;
  /** What it answers with 403 from now on. */
  refusals: Set<'parts' | 'aborts'>;
  /** Called with each part before it is read. */
  beforePart: () => Promise<void> | void;
  /** The headers of all requests so far. */
  requests: IncomingHttpHeaders[];
  createBucket: (bucket: string) => Promise<void>;
  listUnfinished: (bucket: string) => Promise<UnfinishedUpload[]>;
  close: () => Promise<void>;
}

/** The only key pair that the server knows. */
export const s3KeyPair = { AWS_ACCESS_KEY_ID: 'S3RVER', AWS_SECRET_ACCESS_KEY: 'S3RVER' };
/** So few that a test sees more than one page. */
const uploadsPerPage = 2;

/** Speaks S3 on loopback. What s3rver lacks (to list and abort uploads, and whole objects or none) is added here. */
export async function startS3Server(): Promise<S3Server> {
  const directory = testDataDir();
  await mkdir(join(directory, 'buckets'), { recursive: true });
  const s3rver = new S3rver({
    address: '127.0.0.1',
    port: 0,
    directory: join(directory, 'buckets'),
    silent: true,
    vhostBuckets: false,
  });
  writeWholeObjects(s3rver, directory);
  const uploadsFolder = (bucket: string) => s3rver.store.getResourcePath(bucket, undefined, 'uploads');
  const listUnfinished = (bucket: string) => listUploads(uploadsFolder(bucket));
  const refusals: S3Server['refusals'] = new Set();
  const requests: IncomingHttpHeaders[] = [];

  const answerAboutUploads = async (context: Context, next: () => Promise<void>): Promise<void> => {
    requests.push(context.headers);
    const { method, query } = context;
    const bucket = context.path.split('/')[1] ?? '';
    if (method === 'GET' && query.uploads !== undefined) {
      context.body = toPage(await listUnfinished(bucket), query);
    } else if (query.uploadId === undefined) {
      await next();
    } else if (!(await listUnfinished(bucket)).some(({ id }) => id === query.uploadId)) {
      refuse(context, 404, 'NoSuchUpload');
    } else if (refusals.has(method === 'DELETE' ? 'aborts' : 'parts')) {
      refuse(context, 403, 'AccessDenied');
    } else if (method === 'DELETE') {
      await rm(join(uploadsFolder(bucket), query.uploadId), { recursive: true });
      context.status = 204;
    } else {
      if (method === 'PUT') await server.beforePart();
      await next();
    }
  };
  // Before the last, which has all routes, and after those that turn objects into XML.
  s3rver.middleware.splice(-1, 0, answerAboutUploads);
  const { port } = await s3rver.run();
  const server: S3Server = {
    endpoint: `http://127.0.0.1:${port}`,
    refusals,
    beforePart: () => undefined,
    requests,
    createBucket: async (bucket) => void (await s3rver.store.putBucket(bucket)),
    listUnfinished,
    close: () => s3rver.close(),
  };
  return server;
}

function refuse(context: Context, status: number, code: string): void {
  context.status = status;
  context.body = { Error: { Code: code, Message: code } };
}

/** As S3 promises: an object is replaced at once, and only by one that has arrived. */
function writeWholeObjects({ store }: S3rver, directory: string): void {
  store.putPart = (bucket, uploadId, partNumber, content) =>
    receive(content, join(store.getResourcePath(bucket, undefined, 'uploads'), uploadId, partNumber));
  store.putObject = async ({ bucket, key, content }) => {
    const draft = join(directory, randomUUID());
    const received = await receive(content, draft);
    const path = store.getResourcePath(bucket, key, 'object');
    // Without a pause between them, so that no request sees one without the others.
    mkdirSync(dirname(path), { recursive: true });
    renameSync(draft, path);
    writeFileSync(`${path}.md5`, received.md5);
    return received;
  };
  store.deleteObject = async (bucket, key) => {
    for (const resource of ['object', 'object.md5'])
      rmSync(store.getResourcePath(bucket, key, resource), { force: true });
  };
}

async function receive(content: Readable, path: string): Promise<Received> {
  const hash = createHash('md5');
  let size = 0;
  const measure = new Transform({
    transform: (chunk: Buffer, _encoding, done) => {
      hash.update(chunk);
      size += chunk.byteLength;
      done(null, chunk);
    },
  });
  await pipeline(content, measure, createWriteStream(path));
  return { size, md5: hash.digest('hex') };
}

async function listUploads(folder: string): Promise<UnfinishedUpload[]> {
  await mkdir(folder, { recursive: true });
  const uploads = await Promise.all((await readdir(folder)).map((id) => readUpload(join(folder, id), id)));
  const order = ({ key, id }: UnfinishedUpload) => `${key} ${id}`;
  return uploads.flat().sort((one, other) => (order(one) < order(other) ? -1 : 1));
}

/** None if it has ended since it was listed. */
async function readUpload(folder: string, id: string): Promise<UnfinishedUpload[]> {
  try {
    const parts = (await readdir(folder)).filter((name) => /^\d+$/.test(name));
    const sizes = await Promise.all(parts.map(async (name) => (await stat(join(folder, name))).size));
    const key = await readFile(join(folder, 'key'), 'utf8');
    const { birthtime: begunAt } = await stat(join(folder, 'key'));
    return [{ id, key, begunAt, bytes: sizes.reduce((sum, bytes) => sum + bytes, 0) }];
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    throw error;
  }
}

function toPage(uploads: UnfinishedUpload[], query: Context['query']): object {
  const { prefix = '', 'key-marker': afterKey = '', 'upload-id-marker': afterId = '' } = query;
  const rest = uploads.filter(
    ({ key, id }) => key.startsWith(prefix) && (key > afterKey || (key === afterKey && id > afterId)),
  );
  const page = rest.slice(0, uploadsPerPage);
  return {
    ListMultipartUploadsResult: {
      IsTruncated: rest.length > page.length,
      NextKeyMarker: page.at(-1)?.key ?? '',
      NextUploadIdMarker: page.at(-1)?.id ?? '',
      Upload: page.map(({ key, id, begunAt }) => ({ Key: key, UploadId: id, Initiated: begunAt.toISOString() })),
    },
  };
}
