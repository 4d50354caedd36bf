import { disposableEmailBlocklist } from 'disposable-email-domains-js';
import { expect, it } from 'vitest';
import { isDisposable } from '../../../../src/processors/mailings/addresses/is-disposable.ts';

it('every domain of the list is disposable, and so is what is below it', () => {
  const domains = disposableEmailBlocklist();
  expect(domains.length).toBeGreaterThan(1_000);
  expect(domains.filter((domain) => !isDisposable(domain) || !isDisposable(`a.b.${domain}`))).toEqual([]);
});

it.each(['example.com', 'gmail.com', 'com', '', 'mailinator.com.example', 'x--mailinator.com', 'a.b.c.d.example'])(
  '%j is not disposable',
  (domain) => expect(isDisposable(domain)).toBe(false),
);
