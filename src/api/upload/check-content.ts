import { createHash } from 'node:crypto';
import { AppError } from '../../errors.ts';
import { CsvError } from '../../processors/mailings/csv/csv-error.ts';
import { type CsvFormat, headBytes, inspectHead } from '../../processors/mailings/csv/inspect-head.ts';
import { compileTexts, type MailTexts } from '../../processors/mailings/render-mail.ts';
import { TemplateError } from '../../processors/mailings/template.ts';

/** What is learned of a file while it passes by. */
export interface PassedContent {
  bytes: number;
  hash: string;
  format: CsvFormat;
}

/**
 * Lets the file through while it hashes and counts it, and looks at its first 64 KiB. It throws as soon as it is clear
 * that the file will not do, so that whoever stores it stops and keeps nothing.
 */
export class ContentCheck {
  readonly #maxBytes: number;
  readonly #texts: MailTexts;
  readonly #hash = createHash('sha256');
  #head: Buffer[] = [];
  #bytes = 0;
  #format: CsvFormat | undefined;

  constructor(options: { maxBytes: number; texts: MailTexts; sender: string }) {
    this.#maxBytes = options.maxBytes;
    this.#texts = options.texts;
    const { subject, text, html } = options.texts;
    this.#hash.update(`${JSON.stringify([subject, text, html, options.sender])}\n`);
  }

  async *pass(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of source) {
      this.#bytes += chunk.length;
      if (this.#bytes > this.#maxBytes) throw tooLarge(this.#maxBytes);
      this.#hash.update(chunk);
      this.#look(chunk);
      yield chunk;
    }
    if (!this.#format) this.#inspect(true);
  }

  /** Once everything has passed. */
  finish(): PassedContent {
    if (!this.#format) throw new Error('the file has not passed');
    return { bytes: this.#bytes, hash: this.#hash.digest('hex'), format: this.#format };
  }

  #look(chunk: Uint8Array): void {
    if (this.#format) return;
    this.#head.push(Buffer.from(chunk));
    // One byte more tells that the head is not all of it.
    if (this.#bytes > headBytes) this.#inspect(false);
  }

  #inspect(isWhole: boolean): void {
    const head = Buffer.concat(this.#head).subarray(0, headBytes);
    this.#head = [];
    try {
      this.#format = inspectHead(head, isWhole);
      compileTexts(this.#texts, this.#format.columns);
    } catch (error) {
      if (error instanceof CsvError) {
        throw new AppError(error.code, error.message, { extra: error.line === undefined ? {} : { line: error.line } });
      }
      if (error instanceof TemplateError) throw new AppError('TEMPLATE_INVALID', error.message);
      throw error;
    }
  }
}

export function tooLarge(maxBytes: number): AppError {
  return new AppError('TOO_LARGE', `A file may have at most ${maxBytes} bytes.`);
}
