import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { Busboy, type BusboyHeaders, type BusboyInstance } from '@fastify/busboy';
import { AppError } from '../../errors.ts';
import { withDeadline } from '../../store/deadline.ts';
import { validate } from '../read-json.ts';
import { readChunks } from './read-chunks.ts';
import { type UploadFields, uploadFieldNames, uploadFields } from './upload-fields.ts';

export interface MultipartUpload {
  filename: string | undefined;
  fields: UploadFields;
  /** It ends when the whole form has been read, so that whoever took all of it took it from a valid form. */
  content: AsyncIterable<Uint8Array>;
}

/** A text of half a million characters in UTF-8. */
const maxFieldBytes = 2_000_000;
/** More than there are fields, so that one that is unknown is named and not only counted. */
const maxParts = 20;
/** The parser never ends a form with a part that has no header. It needs no time once it has everything. */
const parserPatienceMs = 500;

/** Reads the fields that come before the file, and hands the file on while it arrives. */
export async function readMultipart<T>(
  incoming: IncomingMessage,
  { stallTimeoutMs, maxBytes }: { stallTimeoutMs: number; maxBytes: number },
  receive: (upload: MultipartUpload) => Promise<T>,
): Promise<T> {
  const parser = openParser(incoming);
  const refusal = new AbortController();
  const { signal } = refusal;
  // The parser goes on with what it has, but the first refusal is the one that counts.
  const refuse = (error: unknown) => refusal.abort(error);
  const fields: Record<string, string> = {};
  let receiving: Promise<T> | undefined;

  parser.on('field', (name, value, _nameCut, valueCut) => {
    if (receiving) return refuse(invalid(name, 'must come before the file'));
    if (name === 'file') return refuse(invalid(name, 'must be a file, with a filename'));
    if (!uploadFieldNames.includes(name)) return refuse(invalid(name, 'is not a known field'));
    if (valueCut) return refuse(invalid(name, 'is too long'));
    if (Object.hasOwn(fields, name)) return refuse(invalid(name, 'is there twice'));
    fields[name] = value;
  });
  parser.on('file', (name, file, filename) => {
    // Whoever reads the file hears of an error; before that, the refusal tells.
    file.on('error', () => undefined);
    if (name !== 'file') refuse(invalid(name, 'is not a known field; the file goes into "file"'));
    if (signal.aborted) {
      file.resume();
      return;
    }
    signal.addEventListener('abort', () => file.destroy(signal.reason));
    const content = readToTheEnd(file, whole);
    receiving = Promise.resolve().then(() => receive({ filename, fields: validate(uploadFields, fields), content }));
    // What is refused is refused at once, and not at the end of the file.
    receiving.catch(refuse);
  });
  parser.on('partsLimit', () => refuse(new AppError('INVALID_REQUEST', `The form has more than ${maxParts} parts.`)));
  parser.on('filesLimit', () => refuse(invalid('file', 'is there twice')));
  parser.on('error', () => refuse(malformed()));
  const finished = once(parser, 'finish', { signal });
  finished.catch(refuse);
  const chunks = limitBytes(readChunks(incoming, { stallTimeoutMs, signal }), maxBytes);
  const fed = feed(parser, chunks, signal);
  fed.catch(refuse);
  const whole = async () => {
    await fed;
    await withDeadline(finished, parserPatienceMs, malformed);
  };

  try {
    await fed;
    if (receiving) return await receiving;
    await whole();
    throw invalid('file', 'is missing');
  } catch (error) {
    refuse(error);
    // Whoever stores the file has cleaned up before the client is told.
    await receiving?.catch(refuse);
    throw signal.reason;
  }
}

async function feed(parser: BusboyInstance, chunks: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void> {
  for await (const chunk of chunks) {
    if (!parser.write(chunk)) await once(parser, 'drain', { signal });
    signal.throwIfAborted();
  }
  parser.end();
}

/** The parser drops without a word what is around the parts, and what a field has too much. */
async function* limitBytes(chunks: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new AppError('TOO_LARGE', `A form may have at most ${maxBytes} bytes.`);
    yield chunk;
  }
}

async function* readToTheEnd(file: Readable, whole: () => Promise<void>): AsyncGenerator<Uint8Array> {
  yield* file;
  await whole();
}

function openParser(incoming: IncomingMessage): BusboyInstance {
  const limits = { fieldSize: maxFieldBytes, files: 1, parts: maxParts, headerPairs: 20 };
  try {
    return new Busboy({ headers: incoming.headers as BusboyHeaders, limits });
  } catch {
    throw new AppError('INVALID_REQUEST', 'The body is not valid multipart/form-data: the boundary is missing.');
  }
}

function malformed(): AppError {
  return new AppError('INVALID_REQUEST', 'The body is not valid multipart/form-data.');
}

// A part may have no name at all, which the parser's types do not say.
function invalid(path: string | undefined, message: string): AppError {
  const shown = path === undefined ? 'a part without a name' : path.slice(0, 100);
  const errors = [{ path: shown, message }];
  return new AppError('INVALID_REQUEST', `Not valid: ${shown} ${message}.`, { extra: { errors } });
}
