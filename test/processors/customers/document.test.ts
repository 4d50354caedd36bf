import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createCustomer } from '../../../src/processors/customers/create-customer.ts';
import { isPlausibleDocument } from '../../../src/processors/customers/document.ts';

const isTaken = (document: unknown) =>
  createCustomer.request.safeParse({ name: 'Ada', email: 'ada@example.com', document }).success;

describe('a document with the form of a CPF or CNPJ', () => {
  it.each(['12345678909', '123.456.789-09', '529.982.247-25', '00000000191', '11222333000181', '11.222.333/0001-81'])(
    '%s is taken: its check digits are right',
    (document) => expect(isTaken(document)).toBe(true),
  );

  it.each([
    ...['123.456.789-00', '12345678900', '529.982.247-52', '11.222.333/0001-80', '11222333000118'],
    ...['00000000000', '111.111.111-11', '99999999999999', '123 456 789 00'],
  ])('%s is refused: its check digits are wrong or it is one digit repeated', (document) =>
    expect(isTaken(document)).toBe(false),
  );

  // Where a check digit is 0 the scheme itself lets a slip of the first digit of a CPF pass: 0 stands for two rests.
  it.each(['52998224725', '11222333000181', '00000000191'])(
    '%s is refused after any one of its digits was mistyped',
    (document) => {
      const slips = Array.from(document, (digit, index) =>
        [1, 2, 3, 4, 5, 6, 7, 8, 9].map(
          (by) => `${document.slice(0, index)}${(Number(digit) + by) % 10}${document.slice(index + 1)}`,
        ),
      ).flat();
      expect(slips.filter(isPlausibleDocument)).toEqual([]);
    },
  );

  it('of any digits has exactly one pair of check digits', () => {
    const stem = fc.oneof(digits(9), digits(12)).filter((text) => new Set(text).size > 1);
    const property = fc.property(stem, (text) => {
      const pairs = Array.from({ length: 100 }, (_, pair) => `${text}${String(pair).padStart(2, '0')}`);
      expect(pairs.filter(isPlausibleDocument)).toHaveLength(1);
    });
    fc.assert(property);
  });
});

describe('any other document', () => {
  it.each(['abc', 'AB-123.456', '1234567890', '123456789012', 'X'.repeat(20), '123456789-0x', 'Ausweis 12345678900'])(
    '%s is taken as it is',
    (document) => expect(isTaken(document)).toBe(true),
  );

  it.each(['', 'ab', 'X'.repeat(21), '   ', 'a\u0000bc', 12345678909, null, {}, ['12345678909']])(
    '%j is refused',
    (document) => expect(isTaken(document)).toBe(false),
  );

  it('may be left out', () => expect(isTaken(undefined)).toBe(true));
});

function digits(length: number) {
  return fc.array(fc.nat(9), { minLength: length, maxLength: length }).map((list) => list.join(''));
}
