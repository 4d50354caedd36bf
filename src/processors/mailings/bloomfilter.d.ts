/** The package ships no types. */
declare module 'bloomfilter' {
  export class BloomFilter {
    constructor(bits: number, hashes: number);
    add(value: string): void;
    test(value: string): boolean;
  }
}
