import { CsvError, unclosedQuoteAt } from './csv-error.ts';

/** A row as it stands in the file, without its newline. */
export interface RawRow {
  line: number;
  text: string;
  /** Where its quotes stand, if it has some: around cells, as RFC 4180 has it, or also in places where none may be. */
  quotes: 'none' | 'proper' | 'stray';
}

/** No address with its fields is as large. It bounds what a quote that is never closed can make us hold in memory. */
export const maxRowBytes = 1_048_576;

const lineFeed = 10;
const carriageReturn = 13;
const quote = 34;

type Place = 'cell-start' | 'plain' | 'quoted' | 'after-quote';

/**
 * Cuts text that comes in pieces into rows, and knows their lines. csv-parse cannot: it counts CRLF in a quoted cell
 * twice, and after a stray quote it takes the following rows for a part of the cell.
 */
export class RowScanner {
  /** Why there is nothing to be had after the rows that were given. */
  fault: CsvError | undefined;
  readonly #delimiter: number;
  #line = 1;
  #rowLine = 1;
  #quoteLine = 1;
  #place: Place = 'cell-start';
  #quotes: RawRow['quotes'] = 'none';
  #isAfterReturn = false;
  /** What earlier pieces had of the current row. */
  #pending = '';
  #pendingBytes = 0;

  constructor(delimiter: string) {
    this.#delimiter = delimiter.charCodeAt(0);
  }

  /** The physical line on which the text that was scanned ends. */
  get line(): number {
    return this.#line;
  }

  /** The rows that end in this piece. Blank lines are left out. */
  scan(text: string): RawRow[] {
    const rows: RawRow[] = [];
    const { length } = text;
    let rowStart = this.#passSplitNewline(text);
    let nextFeed = -1;
    let nextReturn = -1;
    let nextQuote = -1;
    while (rowStart < length && this.fault === undefined) {
      // Each is looked for again only when it was passed, so that all the text is searched once.
      if (nextFeed < rowStart) nextFeed = indexOrEnd(text, '\n', rowStart);
      if (nextReturn < rowStart) nextReturn = indexOrEnd(text, '\r', rowStart);
      if (nextQuote < rowStart) nextQuote = indexOrEnd(text, '"', rowStart);
      let end = Math.min(nextFeed, nextReturn);
      // Without a quote before the newline, the row ends there, and there is no need to look at its characters.
      const hasQuotes = nextQuote < end || this.#place === 'quoted' || this.#place === 'after-quote';
      if (hasQuotes) end = this.#walk(text, rowStart);
      if (end === length) {
        if (!hasQuotes) this.#place = text.charCodeAt(length - 1) === this.#delimiter ? 'cell-start' : 'plain';
        this.#keep(text.slice(rowStart));
        break;
      }
      this.#finishRow(text.slice(rowStart, end), rows);
      rowStart = end + 1;
      if (text.charCodeAt(end) === carriageReturn) {
        if (rowStart === length) this.#isAfterReturn = true;
        else if (text.charCodeAt(rowStart) === lineFeed) rowStart += 1;
      }
    }
    return rows;
  }

  /** The last row, if the file does not end with a newline. */
  end(): RawRow[] {
    const rows: RawRow[] = [];
    if (this.fault !== undefined) return rows;
    if (this.#place === 'quoted') this.fault = unclosedQuoteAt(this.#quoteLine);
    else this.#finishRow('', rows);
    return rows;
  }

  /** A line feed whose return was the end of the last piece is no newline of its own. Says where the text begins. */
  #passSplitNewline(text: string): number {
    if (text === '') return 0;
    const isSplit = this.#isAfterReturn && text.charCodeAt(0) === lineFeed;
    this.#isAfterReturn = false;
    if (isSplit && this.#place === 'quoted') this.#keep('\n');
    return isSplit ? 1 : 0;
  }

  /** Goes on from where the row was left, to its newline or to the end of the text. */
  #walk(text: string, start: number): number {
    let place = this.#place;
    let at = start;
    for (; at < text.length; at += 1) {
      const char = text.charCodeAt(at);
      if (place === 'quoted') {
        if (char === quote) place = 'after-quote';
        else if (char === lineFeed || char === carriageReturn) at = this.#passNewline(text, at, char);
      } else if (char === lineFeed || char === carriageReturn) break;
      else if (char === this.#delimiter) place = 'cell-start';
      else if (char === quote && place !== 'plain') {
        // Two quotes in a quoted cell are one of its characters; any other opens a cell.
        if (place === 'cell-start') this.#openQuote();
        place = 'quoted';
      } else {
        if (char === quote || place === 'after-quote') this.#quotes = 'stray';
        place = 'plain';
      }
    }
    this.#place = place;
    return at;
  }

  #openQuote(): void {
    this.#quoteLine = this.#line;
    if (this.#quotes === 'none') this.#quotes = 'proper';
  }

  /** Counts a newline in a quoted cell. A return counts, and a line feed right after it, in this piece or the next. */
  #passNewline(text: string, at: number, char: number): number {
    this.#line += 1;
    if (char === lineFeed) return at;
    if (at + 1 === text.length) this.#isAfterReturn = true;
    return text.charCodeAt(at + 1) === lineFeed ? at + 1 : at;
  }

  #keep(text: string): void {
    this.#pending += text;
    this.#pendingBytes += Buffer.byteLength(text);
    if (this.#pendingBytes > maxRowBytes) this.fault = tooLargeAt(this.#rowLine);
  }

  #finishRow(rest: string, rows: RawRow[]): void {
    const text = this.#pending === '' ? rest : this.#pending + rest;
    const line = this.#rowLine;
    // A character has at most three bytes for each of its units, so short rows need no counting.
    if (text.length * 3 > maxRowBytes && Buffer.byteLength(text) > maxRowBytes) this.fault = tooLargeAt(line);
    else if (!isBlank(text)) rows.push({ line, text, quotes: this.#quotes });
    this.#line += 1;
    this.#rowLine = this.#line;
    this.#place = 'cell-start';
    this.#quotes = 'none';
    this.#pending = '';
    this.#pendingBytes = 0;
  }
}

function indexOrEnd(text: string, char: string, from: number): number {
  const index = text.indexOf(char, from);
  return index === -1 ? text.length : index;
}

function isBlank(text: string): boolean {
  return text.charCodeAt(0) > 32 ? false : text.trim() === '';
}

function tooLargeAt(line: number): CsvError {
  return new CsvError('CSV_INVALID', 'the row is larger than 1 MiB; a quote in it may not have been closed.', line);
}
