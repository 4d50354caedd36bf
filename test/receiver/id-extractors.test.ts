import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { clientKey, composite, contentHash, MissingIdError, producerId } from '../../src/index.ts';
import { checkNamespace, storableIdOf, toIdText } from '../../src/receiver/storable-id.ts';
import { hostileId } from './hostile-id.ts';

describe('the producer’s id', () => {
  it('is the field of the message', () => {
    expect(producerId('messageId')({ messageId: 'm-1' })).toBe('m-1');
    expect(producerId('n')({ n: 7 })).toBe(7);
    expect(producerId('n')({ n: 7n })).toBe(7n);
  });

  it('may be missing, but not be something else than an id', () => {
    expect(producerId('messageId')({})).toBeUndefined();
    expect(producerId('messageId')({ messageId: null })).toBeUndefined();
    const strange = { messageId: { a: 1 } } as unknown as { messageId: string };
    expect(() => producerId('messageId')(strange)).toThrow(MissingIdError);
  });
});

describe('the content’s hash', () => {
  it('is that of canonical JSON, in whatever order the fields come', () => {
    // sha256 of {"a":1,"b":{"c":[true,null],"d":"é"}}
    const expected = 'd45d80f247869cc3c0d045896ab4d6e152e2e0e3ec1ea1558412690061cba034';
    expect(contentHash()({ b: { d: 'é', c: [true, null] }, a: 1 })).toBe(expected);
    expect(contentHash()({ a: 1.0, b: { c: [true, null], d: '\u00e9' } })).toBe(expected);
  });

  it('differs when the JSON differs, and only then', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (one, other) => {
        const normal = (value: unknown) => JSON.stringify(sortFields(value));
        expect(contentHash()(one) === contentHash()(other)).toBe(normal(one) === normal(other));
      }),
    );
  });

  it('may leave out what differs between deliveries', () => {
    const idOf = contentHash(({ payload }: { payload: unknown; sentAt: number }) => payload);
    expect(idOf({ payload: { a: 1 }, sentAt: 1 })).toBe(idOf({ payload: { a: 1 }, sentAt: 2 }));
  });

  it('is refused for what is not JSON', () => {
    expect(() => contentHash()({ n: Number.NaN })).toThrow(MissingIdError);
    expect(() => contentHash()({ n: 1n })).toThrow(MissingIdError);
    expect(contentHash()(undefined)).toBeUndefined();
  });
});

describe('a composite id', () => {
  const idOf = composite<{ a?: unknown; b?: unknown }>('a', 'b');

  it('keeps its parts apart', () => {
    expect(idOf({ a: 'c-1', b: 7 })).toBe('["c-1",7]');
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.string(), fc.string(), (a, b, c, d) => {
        expect(idOf({ a, b }) === idOf({ a: c, b: d })).toBe(a === c && b === d);
      }),
    );
  });

  it('has all its parts, or is missing', () => {
    expect(idOf({ a: 'c-1' })).toBeUndefined();
    expect(idOf({ a: 'c-1', b: null })).toBeUndefined();
  });

  it('may take parts that have to be found', () => {
    const found = composite<{ topic: string; record: { offset: string } }>('topic', ({ record }) => record.offset);
    expect(found({ topic: 'orders', record: { offset: '12' } })).toBe('["orders","12"]');
  });
});

describe('a client’s key', () => {
  it('is found in every kind of headers, in any case', () => {
    const request = new Request('http://localhost', { headers: { 'idempotency-key': 'k-1' } });
    expect(clientKey()(request)).toBe('k-1');
    expect(clientKey()({ headers: { 'idempotency-key': 'k-1' } })).toBe('k-1');
    expect(clientKey('X-Message-ID')({ headers: { 'x-message-id': ['k-1'] } })).toBe('k-1');
  });

  it('may be missing, but not be there twice', () => {
    expect(toIdText(clientKey()(new Request('http://localhost')))).toBeUndefined();
    expect(toIdText(clientKey()({ headers: {} }))).toBeUndefined();
    expect(() => clientKey('k')({ headers: { k: ['1', '2'] } })).toThrow(MissingIdError);
    expect(() => clientKey('k')({ headers: { k: '1', K: '2' } })).toThrow(MissingIdError);
  });
});

describe('what stands for an id', () => {
  it('is the id itself if it is short and printable', () => {
    for (const id of ['order-1', '["c-1",7]', '{a}', 'x'.repeat(200)]) expect(storableIdOf(id)).toBe(id);
  });

  it('is always short and printable', () => {
    fc.assert(
      fc.property(hostileId, (id) => {
        expect(storableIdOf(id)).toMatch(/^[\x21-\x7e]{1,200}$/);
      }),
    );
  });

  it('is another for each id', () => {
    fc.assert(
      fc.property(hostileId, hostileId, (one, other) => {
        expect(storableIdOf(one) === storableIdOf(other)).toBe(one === other);
        // An id that is what stands for another one is not mistaken for it.
        if (storableIdOf(one) !== one) expect(storableIdOf(storableIdOf(one))).not.toBe(storableIdOf(one));
      }),
      { numRuns: 1_000 },
    );
  });
});

it('a namespace has no character that separates it from the id', () => {
  for (const namespace of ['mail', 'orders.v2/eu@1']) expect(checkNamespace(namespace)).toBe(namespace);
  for (const namespace of ['', 'a:b', 'a b', '{a}', 'é', 'x'.repeat(101)]) {
    expect(() => checkNamespace(namespace)).toThrow(RangeError);
  }
});

it('an id is text: nothing, null and emptiness are none, and not every number is one', () => {
  for (const value of [undefined, null, '']) expect(toIdText(value)).toBeUndefined();
  expect([toIdText(0), toIdText(7n), toIdText(' ')]).toEqual(['0', '7', ' ']);
  expect(() => toIdText(Number.NaN)).toThrow(MissingIdError);
});

function sortFields(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortFields);
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return fields.map(([name, field]) => ['field', name, sortFields(field)]).concat([['object']]);
}
