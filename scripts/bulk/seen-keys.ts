/** Enough for a million rows, in 16 MiB that are taken whatever the size of the file. */
const slots = 2 ** 21;
const maxKeys = slots / 2;

/**
 * Notices keys that stand more than once in a file, by 64 bits of a hash: for a million rows, the odds of taking one for
 * another are one in forty million. Beyond a million different keys it no longer notices, and says so.
 */
export class SeenKeys {
  readonly #hashes = new Uint32Array(slots * 2);
  #size = 0;

  get isFull(): boolean {
    return this.#size >= maxKeys;
  }

  /** Whether the key was there before. */
  add(key: string): boolean {
    let [high, low] = [0x811c9dc5, 0x9e3779b9];
    for (let index = 0; index < key.length; index += 1) {
      const unit = key.charCodeAt(index);
      high = Math.imul(high ^ unit, 0x01000193);
      low = Math.imul(low ^ unit, 0x85ebca6b);
      low ^= low >>> 13;
    }
    // Zero marks an empty slot.
    [high, low] = [high >>> 0 || 1, low >>> 0];
    for (let slot = (high ^ low) & (slots - 1); ; slot = (slot + 1) & (slots - 1)) {
      const found = this.#hashes[slot * 2];
      if (found === high && this.#hashes[slot * 2 + 1] === low) return true;
      if (found !== 0) continue;
      if (this.isFull) return false;
      this.#hashes[slot * 2] = high;
      this.#hashes[slot * 2 + 1] = low;
      this.#size += 1;
      return false;
    }
  }
}
