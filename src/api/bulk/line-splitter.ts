import { isUtf8 } from 'node:buffer';

/** A line of the body, or why it cannot be read. Lines are counted from 1, blank ones too. */
export interface RawLine {
  line: number;
  text: string;
  fault?: 'too long' | 'not UTF-8';
}

const lineFeed = 10;

/** Cuts bytes that come in chunks into lines, and holds no more of a line than it may have. Blank lines are left out. */
export class LineSplitter {
  readonly #maxLineBytes: number;
  /** What earlier chunks had of the current line. */
  #parts: Buffer[] = [];
  #size = 0;
  #line = 1;

  constructor(maxLineBytes: number) {
    this.#maxLineBytes = maxLineBytes;
  }

  /** The number of the line that has not ended yet. */
  get line(): number {
    return this.#line;
  }

  push(chunk: Buffer): RawLine[] {
    const first = chunk.indexOf(lineFeed);
    if (first === -1) {
      this.#keep(chunk);
      return [];
    }
    const last = chunk.lastIndexOf(lineFeed);
    const lines = this.#finish(chunk.subarray(0, first));
    if (last > first) for (const line of this.#split(chunk.subarray(first + 1, last))) lines.push(line);
    this.#keep(chunk.subarray(last + 1));
    return lines;
  }

  /** The last line, if no newline ends it. */
  end(): RawLine[] {
    return this.#finish(Buffer.alloc(0));
  }

  #keep(bytes: Buffer): void {
    this.#size += bytes.length;
    if (this.#size > this.#maxLineBytes) this.#parts = [];
    else if (bytes.length > 0) this.#parts.push(bytes);
  }

  #finish(rest: Buffer): RawLine[] {
    this.#keep(rest);
    const isTooLong = this.#size > this.#maxLineBytes;
    const bytes = Buffer.concat(this.#parts);
    this.#parts = [];
    this.#size = 0;
    return isTooLong ? [this.#faulty('too long')] : this.#toLines(bytes);
  }

  /** Whole lines. As long as all is well, they are decoded in one go. */
  #split(bytes: Buffer): RawLine[] {
    if (bytes.length <= this.#maxLineBytes && isUtf8(bytes)) return this.#number(bytes.toString('utf8').split('\n'));
    const lines: RawLine[] = [];
    for (let start = 0; start <= bytes.length; ) {
      const feed = bytes.indexOf(lineFeed, start);
      const end = feed === -1 ? bytes.length : feed;
      const line = bytes.subarray(start, end);
      if (line.length > this.#maxLineBytes) lines.push(this.#faulty('too long'));
      else lines.push(...this.#toLines(line));
      start = end + 1;
    }
    return lines;
  }

  #toLines(bytes: Buffer): RawLine[] {
    return isUtf8(bytes) ? this.#number([bytes.toString('utf8')]) : [this.#faulty('not UTF-8')];
  }

  #number(texts: readonly string[]): RawLine[] {
    const lines: RawLine[] = [];
    for (const text of texts) {
      const line = this.#line;
      this.#line += 1;
      // A byte order mark may begin a file, and is white space to trim().
      if (text.trim() !== '') lines.push({ line, text: line === 1 ? text.trim() : text });
    }
    return lines;
  }

  #faulty(fault: RawLine['fault'] & string): RawLine {
    const line = this.#line;
    this.#line += 1;
    return { line, text: '', fault };
  }
}
