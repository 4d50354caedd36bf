import { TextDecoder } from 'node:util';
import type { CsvFormat } from './inspect-head.ts';

export type CsvEncoding = CsvFormat['encoding'];

export interface DecodedText {
  /** All that could be decoded, up to the first byte that could not. */
  text: string;
  isBroken: boolean;
}

/**
 * Decodes a file that comes in chunks, and gives the text before a broken byte, wherever the chunks end.
 * TextDecoder's own streaming is five times slower and says nothing about where it failed.
 */
export class CsvTextDecoder {
  readonly #encoding: CsvEncoding;
  readonly #decoder: TextDecoder;
  /** The beginning of a character whose rest is in the next chunk. */
  #carry = new Uint8Array(0);
  #isAtStart = true;

  constructor(encoding: CsvEncoding) {
    this.#encoding = encoding;
    // A byte order mark is one only at the start of the file, and a chunk may start anywhere.
    this.#decoder = new TextDecoder(encoding, { fatal: true, ignoreBOM: true });
  }

  decode(chunk: Uint8Array): DecodedText {
    const bytes = this.#carry.length === 0 ? chunk : Buffer.concat([this.#carry, chunk]);
    const length = lengthOfWholeCharacters(bytes, this.#encoding);
    // A copy, because the source may use the memory of its chunk again.
    this.#carry = Uint8Array.prototype.slice.call(bytes, length);
    return this.#decodeWhole(bytes.subarray(0, length));
  }

  /** What is left at the end of the file is part of a character, and so broken. */
  end(): DecodedText {
    return { text: '', isBroken: this.#carry.length > 0 };
  }

  #decodeWhole(bytes: Uint8Array): DecodedText {
    try {
      return { text: this.#withoutMark(this.#decoder.decode(bytes)), isBroken: false };
    } catch (error) {
      if (!isDecodingError(error)) throw error;
      return { text: this.#withoutMark(decodeValidPrefix(bytes, this.#encoding)), isBroken: true };
    }
  }

  #withoutMark(text: string): string {
    if (!this.#isAtStart || text === '') return text;
    this.#isAtStart = false;
    return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
  }
}

/** Leaves out a character at the end that needs more bytes than there are. Bytes that fit nowhere are left in. */
function lengthOfWholeCharacters(bytes: Uint8Array, encoding: CsvEncoding): number {
  const { length } = bytes;
  if (encoding !== 'utf-8') {
    const even = length - (length % 2);
    const high = bytes[encoding === 'utf-16le' ? even - 1 : even - 2] ?? 0;
    const isFirstOfPair = high >= 0xd8 && high <= 0xdb;
    return isFirstOfPair ? even - 2 : even;
  }
  for (let back = 1; back <= Math.min(3, length); back += 1) {
    const byte = bytes[length - back] ?? 0;
    const isContinuation = byte >= 0x80 && byte < 0xc0;
    if (isContinuation) continue;
    const needed = byte < 0xc0 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
    return needed > back ? length - back : length;
  }
  return length;
}

/** Bisects: a prefix of a valid prefix is valid when an unfinished character at its end is none of its business. */
function decodeValidPrefix(bytes: Uint8Array, encoding: CsvEncoding): string {
  let [valid, invalid, text] = [0, bytes.length, ''];
  while (invalid - valid > 1) {
    const middle = Math.floor((valid + invalid) / 2);
    const decoder = new TextDecoder(encoding, { fatal: true, ignoreBOM: true });
    try {
      text = decoder.decode(bytes.subarray(0, middle), { stream: true });
      valid = middle;
    } catch (error) {
      if (!isDecodingError(error)) throw error;
      invalid = middle;
    }
  }
  return text;
}

function isDecodingError(error: unknown): boolean {
  return error instanceof TypeError && 'code' in error && error.code === 'ERR_ENCODING_INVALID_ENCODED_DATA';
}
