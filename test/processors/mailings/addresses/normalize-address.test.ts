import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { normalizeAddress } from '../../../../src/processors/mailings/addresses/normalize-address.ts';

describe('an address has one form', () => {
  it.each([
    ['ada@example.com', 'ada@example.com'],
    ['  Ada.Lovelace+News@EXAMPLE.Com\r\n', 'ada.lovelace+news@example.com'],
    ['\uFEFF\u00a0ada@example.com\u2003', 'ada@example.com'],
    ["!#$%&'*+-/=?^_`{|}~@example.com", "!#$%&'*+-/=?^_`{|}~@example.com"],
    ['a@b.cd', 'a@b.cd'],
    ['a@1.2.3.x4', 'a@1.2.3.x4'],
    ['a@a--b.example', 'a@a--b.example'],
    ['ada@münchen.example', 'ada@xn--mnchen-3ya.example'],
    ['ada@MÜNCHEN.example', 'ada@xn--mnchen-3ya.example'],
    ['ada@mu\u0308nchen.example', 'ada@xn--mnchen-3ya.example'],
    ['ada@XN--MNCHEN-3YA.example', 'ada@xn--mnchen-3ya.example'],
    ['ada@例え。example', 'ada@xn--r8jz45g.example'],
    ['ada@ｅｘａｍｐｌｅ.com', 'ada@example.com'],
    [`${'a'.repeat(64)}@example.com`, `${'a'.repeat(64)}@example.com`],
    [`aa@${'b.'.repeat(122)}example`, `aa@${'b.'.repeat(122)}example`],
    [`a@${'b'.repeat(63)}.example`, `a@${'b'.repeat(63)}.example`],
  ])('%j is %s', (text, address) => expect(normalizeAddress(text)).toBe(address));
});

describe('what is no address is refused', () => {
  it.each([
    ...['', ' ', '@', 'ada', 'ada@', '@example.com', 'ada@@example.com', 'a@b@example.com', 'ada@example'],
    ...['.ada@example.com', 'ada.@example.com', 'a..b@example.com', '"ada"@example.com', 'a b@example.com'],
    ...['ada@example..com', 'ada@.example.com', 'ada@example.com.', 'ada@-example.com', 'ada@example-.com'],
    ...['ada@exa mple.com', 'ada@exa_mple.com', 'ada@example.com\u0000', 'ada\t@example.com', 'ada@exam\nple.com'],
    ...[
      'ada\r\nBcc: bob@example.com',
      'Ada <ada@example.com>',
      'ada@example.com,bob@example.com',
      'a\u007f@example.com',
    ],
    ...['ada@127.0.0.1', 'ada@[127.0.0.1]', 'ada@１２７.０.０.１', 'ada@2130706433', 'ada@１.0x7f', 'ada@example.123'],
    ...['ada@ex%61mple.com', 'ada@ex％61mple.com', 'ada@é%2ecom', 'ada@é/x.com', 'ada@é:80.com', 'ada@é#x.com'],
    ...['adä@example.com', '\u212Aelvin@example.com', 'ada@xn--a.example', 'ada@xn--.example', 'ada@\u00ad.example'],
    ...['ada@\ud800.example', 'ada@é\u0000.example', 'ada@é .example'],
    `${'a'.repeat(65)}@example.com`,
    `a@${'b'.repeat(64)}.example`,
    `a@${`${'b'.repeat(49)}.`.repeat(5)}example`,
    // Short as it is written, too long as it is sent.
    `a@${'ü.'.repeat(120)}example`,
    `${'a'.repeat(64)}@${'ü.'.repeat(24)}example`,
    `a@${'😀ü例'.repeat(20)}.example`,
    `${' '.repeat(300)}ada@example.com`,
  ])('%j', (text) => expect(normalizeAddress(text)).toBeUndefined());
});

const part = fc.oneof(
  fc.constantFrom(
    'a',
    'B',
    '1',
    '.',
    '-',
    '@',
    '%',
    '%61',
    'xn--',
    '0x7f',
    ' ',
    '"',
    '\0',
    '\r\n',
    'ß',
    'ü',
    'İ',
    '。',
    '１',
    'K',
    '\u200d',
  ),
  fc.string({ unit: 'binary', maxLength: 3 }),
);
const hostile = fc.array(part, { maxLength: 30 }).map((parts) => parts.join(''));
const nearly = fc.tuple(hostile, hostile).map(([local, domain]) => `a${local}@${domain}.example`);
const likely = fc.emailAddress({ size: 'medium' });

describe('whatever comes in', () => {
  it.each(['é', 'a.', '@', '%', ' ', '-'])('a million of %j are refused for their number', (part) => {
    expect(normalizeAddress(`a@${part.repeat(1_000_000)}.example`)).toBeUndefined();
    expect(normalizeAddress(`${part.repeat(1_000_000)}@a.example`)).toBeUndefined();
  });

  it('nothing is thrown, and what comes out is an address in its one form', () => {
    const property = fc.property(fc.oneof(hostile, nearly, likely, fc.string({ unit: 'binary' })), (text) => {
      const address = normalizeAddress(text);
      if (address === undefined) return;
      expect(normalizeAddress(address)).toBe(address);
      expect(address).toMatch(/^[!-?^-~]{1,64}@[a-z0-9.-]{3,253}$/);
      expect(address.length).toBeLessThanOrEqual(254);
    });
    fc.assert(property, { numRuns: 20_000 });
  });

  it('an address that a standard allows is taken, in lower case', () => {
    const property = fc.property(likely, (text) => {
      fc.pre(!text.includes('xn--') && text.length <= 252);
      expect(normalizeAddress(` ${text.toUpperCase()} `)).toBe(text.toLowerCase());
    });
    fc.assert(property, { numRuns: 2_000 });
  });
});
