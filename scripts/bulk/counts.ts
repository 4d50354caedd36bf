import type { Row } from './row.ts';
import { SeenKeys } from './seen-keys.ts';

/** Enough lines to find the others by. */
const maxShownLines = 10;

/** What became of the rows so far. */
export class Counts {
  rows = 0;
  created = 0;
  replayed = 0;
  refused = 0;
  failed = 0;
  /** Rows whose key stands further up in the same file. */
  repeated = 0;
  readonly repeatedLines: number[] = [];
  readonly #seen = new SeenKeys();

  /** A row that has a key, before it is sent. */
  note({ key, line }: Row): void {
    if (key === undefined || !this.#seen.add(key)) return;
    this.repeated += 1;
    if (this.repeatedLines.length < maxShownLines) this.repeatedLines.push(line);
  }

  get answered(): number {
    return this.created + this.replayed + this.notTaken;
  }

  get notTaken(): number {
    return this.refused + this.failed;
  }
}
