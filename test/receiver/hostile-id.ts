import fc from 'fast-check';

/** Ids as a stranger might send them: any length and content, and such as look like what the stores write themselves. */
export const hostileId = fc.oneof(
  fc.string({ minLength: 1, unit: 'binary', maxLength: 300 }),
  fc.string({ minLength: 1, unit: 'grapheme-ascii', maxLength: 300 }),
  // Single code units, hence unpaired surrogates.
  fc
    .array(fc.integer({ min: 0, max: 0xffff }), { minLength: 1, maxLength: 8 })
    .map((units) => String.fromCharCode(...units)),
  fc.constantFrom(
    'a',
    'a ',
    ' a',
    'A',
    'á',
    'a\u0301',
    '\0',
    'a\0',
    '\ud800',
    '\ud801',
    '\ufffd',
    'a:b',
    'a::b',
    ':',
    '~',
  ),
  fc.constantFrom(
    '{a}',
    '}{',
    '{}',
    '*',
    'a\nb',
    "'; drop table dedup; --",
    '__proto__',
    'constructor',
    '../..',
    '%00',
  ),
  fc.integer({ min: 199, max: 202 }).map((length) => 'x'.repeat(length)),
  fc.string({ minLength: 1, maxLength: 3 }).map((end) => `${'long '.repeat(20_000)}${end}`),
  fc
    .string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength: 64, maxLength: 64 })
    .map((hex) => `sha256:${hex}`),
);
