import type { IncomingMessage } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { AppError } from '../../errors.ts';
import { type ApiContext, headerOf } from '../api-env.ts';
import { validate } from '../read-json.ts';
import { tooLarge } from './check-content.ts';
import { readChunks, StalledError } from './read-chunks.ts';
import { readMultipart } from './read-multipart.ts';
import { type UploadFields, uploadName } from './upload-fields.ts';

/** The form around a file: boundaries, names, and the texts. */
const formOverheadBytes = 8_000_000;
/** So much of a refused upload is still read, and for so long, so that the client gets to see why. */
const politeBytes = 64 * 1024 * 1024;
const politeMs = 2_000;

export interface Upload {
  filename: string;
  fields: UploadFields;
  content: AsyncIterable<Uint8Array>;
}

export interface UploadOptions {
  /** From the query; it goes before a name in the form. */
  filename: string | undefined;
  maxBytes: number;
  stallTimeoutMs: number;
}

/** Hands the file on while it arrives: nothing of it is held here. */
export async function receiveUpload<T>(
  c: ApiContext,
  options: UploadOptions,
  receive: (upload: Upload) => Promise<T>,
): Promise<T> {
  const { incoming } = c.env;
  const encoding = headerOf(c, 'content-encoding') ?? 'identity';
  try {
    if (encoding !== 'identity') throw unsupported('Send the file without Content-Encoding.');
    return await receiveByType(incoming, headerOf(c, 'content-type') ?? '', options, receive);
  } catch (error) {
    if (!incoming.complete && !(error instanceof StalledError)) await readOn(incoming);
    throw error;
  }
}

async function receiveByType<T>(
  incoming: IncomingMessage,
  type: string,
  { filename: queryName, maxBytes, stallTimeoutMs }: UploadOptions,
  receive: (upload: Upload) => Promise<T>,
): Promise<T> {
  const announcedBytes = Number(incoming.headers['content-length'] ?? 0);
  if (/^text\/csv *(?:;|$)/i.test(type)) {
    if (announcedBytes > maxBytes) throw tooLarge(maxBytes);
    if (queryName === undefined) throw missing('filename', 'is missing: add ?filename=list.csv');
    return await receive({ filename: queryName, fields: {}, content: readChunks(incoming, { stallTimeoutMs }) });
  }
  if (/^multipart\/form-data *(?:;|$)/i.test(type)) {
    const maxFormBytes = maxBytes + formOverheadBytes;
    if (announcedBytes > maxFormBytes) throw tooLarge(maxBytes);
    const limits = { stallTimeoutMs, maxBytes: maxFormBytes };
    return await readMultipart(incoming, limits, async ({ filename: partName, fields, content }) => {
      if (queryName === undefined && !partName) throw missing('filename', 'is missing: the file has no name');
      const { filename } = validate(uploadName, { filename: queryName ?? partName });
      return await receive({ filename, fields, content });
    });
  }
  throw unsupported('Send the file as multipart/form-data, or as text/csv with ?filename=.');
}

/** Many clients look for an answer only when all is sent. Once it is given, the rest is read for half a second more. */
async function readOn(incoming: IncomingMessage): Promise<void> {
  if (incoming.destroyed) return;
  let bytes = 0;
  const done = new AbortController();
  incoming.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > politeBytes) done.abort();
  });
  incoming.once('close', () => done.abort());
  incoming.once('end', () => done.abort());
  incoming.resume();
  await pause(politeMs, undefined, { signal: done.signal }).catch(() => undefined);
}

function unsupported(detail: string): AppError {
  return new AppError('UNSUPPORTED_MEDIA_TYPE', detail);
}

function missing(path: string, message: string): AppError {
  return new AppError('INVALID_REQUEST', `Not valid: ${path} ${message}.`, { extra: { errors: [{ path, message }] } });
}
