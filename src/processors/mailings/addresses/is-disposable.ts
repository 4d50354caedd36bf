import { disposableEmailBlocklistSet } from 'disposable-email-domains-js';

/** Made once: the package's own look-up makes a set of all its domains at every call. */
const disposableDomains: ReadonlySet<string> = disposableEmailBlocklistSet();

/** Whether a domain, in its lower-case ASCII form, or one that it is part of hands out addresses to throw away. */
export function isDisposable(domain: string): boolean {
  let rest = domain;
  for (;;) {
    if (disposableDomains.has(rest)) return true;
    const end = rest.indexOf('.');
    if (end === -1) return false;
    rest = rest.slice(end + 1);
  }
}
