import fc from 'fast-check';
import { expect, it } from 'vitest';
import { differingFieldsOf, fingerprintOf } from '../../src/queues/fingerprint.ts';

const request = fc.dictionary(fc.string(), fc.jsonValue());

const reversed = (value: Record<string, unknown>) => Object.fromEntries(Object.entries(value).toReversed());

it('fields in another order are the same request', () => {
  fc.assert(
    fc.property(request, (body) => {
      expect(fingerprintOf('a', reversed(body))).toBe(fingerprintOf('a', body));
    }),
  );
});

it('another operation or another value is another request, and the differing fields are named', () => {
  expect(fingerprintOf('b', { amount: 1 })).not.toBe(fingerprintOf('a', { amount: 1 }));
  expect(fingerprintOf('a', { amount: 2 })).not.toBe(fingerprintOf('a', { amount: 1 }));
  expect(differingFieldsOf({ to: 'x', amount: 1, note: null }, { to: 'x', amount: 2, extra: [1] })).toEqual([
    'amount',
    'extra',
    'note',
  ]);
});

it('a request differs in no field exactly when its fingerprint is the same', () => {
  fc.assert(
    fc.property(request, request, (one, other) => {
      expect(differingFieldsOf(one, other).length === 0).toBe(fingerprintOf('a', one) === fingerprintOf('a', other));
    }),
  );
});
