import fc from 'fast-check';
import { expect, it } from 'vitest';
import { jobIdOf, scopedKeyOf } from '../../src/store/scoped-key.ts';

const scope = fc.record({
  id: fc.uuid(),
  client: fc.string({ minLength: 1 }),
  sub_client: fc.string(),
  operation: fc.string({ minLength: 1 }),
  key: fc.option(fc.string({ minLength: 1 })),
  generation: fc.integer({ min: 1, max: 30 }),
});

const identityOf = ({ id, key, ...rest }: { id: string; key: string | null }) =>
  JSON.stringify([key ?? `without a key: ${id}`, key === null, rest]);

it('two different keys never share a job id', () => {
  fc.assert(
    fc.property(scope, scope, (one, other) => {
      expect(jobIdOf(one) === jobIdOf(other)).toBe(identityOf(one) === identityOf(other));
    }),
  );
});

it('keys that look like parts of a job id never share one', () => {
  const tricky = fc.stringMatching(/^[a~@+=2%/0-9]{1,6}$/);
  const trickyScope = fc.record({
    id: fc.constant('0'),
    client: tricky,
    sub_client: fc.oneof(fc.constant(''), tricky),
    operation: tricky,
    key: fc.option(tricky),
    generation: fc.integer({ min: 1, max: 3 }),
  });
  fc.assert(
    fc.property(trickyScope, trickyScope, (one, other) => {
      expect(jobIdOf(one) === jobIdOf(other)).toBe(identityOf(one) === identityOf(other));
    }),
    { numRuns: 5_000 },
  );
});

it('BullMQ takes every job id: no colon, and never only digits', () => {
  fc.assert(
    fc.property(scope, (record) => {
      expect(jobIdOf(record)).toMatch(/^[A-Za-z0-9._=@~+-]+$/);
      expect(jobIdOf(record)).not.toMatch(/^\d+$/);
    }),
  );
});

it('an ordinary key can be read in its job id', () => {
  const record = {
    id: '1',
    client: 'default',
    sub_client: 'shop',
    operation: 'transfer.create',
    key: 'order-0001',
    generation: 2,
  };
  expect(scopedKeyOf(record)).toBe('transfer.create~default@shop~order-0001');
  expect(jobIdOf(record)).toBe('transfer.create~default@shop~order-0001~2');
});
