import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { fieldsOf, toValue } from '../../../scripts/bulk/request-fields.ts';
import { defineOperation, printableKey } from '../../../src/processors/define-operation.ts';
import { succeeded } from '../../../src/processors/outcomes.ts';
import { createTransfer } from '../../../src/processors/transfers/create-transfer.ts';

const operation = defineOperation({
  name: 'test.fields',
  request: z.strictObject({
    text: z.string(),
    count: z.int().optional(),
    rate: z.number().nullable().default(1),
    flag: z.boolean().optional(),
    tags: z.array(z.string()).optional(),
    more: z.looseObject({}).optional(),
  }),
  key: { required: true, pattern: printableKey },
  onMismatch: 'reject',
  replay: 'stored',
  process: async () => succeeded(200, {}),
});

describe('the fields of a request', () => {
  const { types, required } = fieldsOf(operation);
  const read = (name: string, cell: string) => toValue(cell, types.get(name));

  it('are those of the schema that validates it', () => {
    expect(required).toEqual(['text']);
    expect([...fieldsOf(createTransfer).types.keys()]).toEqual([
      'fromAccountId',
      'toAccountId',
      'amount',
      'description',
    ]);
  });

  it.each([
    ['text', '42', '42'],
    ['text', ' a ', ' a '],
    ['text', 'true', 'true'],
    ['text', '{}', '{}'],
    ['text', '', undefined],
    ['count', '42', 42],
    ['count', ' -7 ', -7],
    ['count', '0', 0],
    ['count', '12.50', 12.5],
    ['count', '1e3', '1e3'],
    ['count', '007', '007'],
    ['count', '1,5', '1,5'],
    ['count', '0x10', '0x10'],
    ['count', '9007199254740993', '9007199254740993'],
    ['count', 'many', 'many'],
    ['count', '', undefined],
    ['rate', '0.1', 0.1],
    ['flag', 'TRUE', true],
    ['flag', 'false', false],
    ['flag', 'yes', 'yes'],
    ['flag', '1', '1'],
    ['tags', '["a","b"]', ['a', 'b']],
    ['tags', 'a,b', 'a,b'],
    ['more', '{"a":1}', { a: 1 }],
    ['more', '{broken', '{broken'],
  ])('%s of "%s" is taken for what it looks like, and nothing is guessed', (name, cell, value) => {
    expect(read(name, cell)).toEqual(value);
  });
});
