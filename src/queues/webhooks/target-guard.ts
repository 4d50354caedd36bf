import { type LookupAddress, lookup as resolveWithSystem } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { withDeadline } from '../../store/deadline.ts';
import { isPublicAddress } from './addresses.ts';

/** Why a target is refused, in words that its owner may read. They never say what a name resolves to. */
export class TargetRefused extends Error {}

export type Resolve = (hostname: string) => Promise<LookupAddress[]>;

export interface TargetGuard {
  /** At registration: throws TargetRefused unless every address of the host may be sent to. */
  check: (url: URL) => Promise<void>;
  /** At delivery, what needs no resolving: scheme, port, and a host that is an address. */
  checkLiteral: (url: URL) => void;
  /** At delivery: the address that is checked is the address that is connected to, whatever the name said before. */
  lookup: LookupFunction;
}

/** A name server that takes longer is broken, and someone is waiting for the answer. */
const resolveTimeoutMs = 3_000;

export function createTargetGuard(options: { allowPrivate: boolean; resolve?: Resolve }): TargetGuard {
  const { allowPrivate, resolve = resolveAll } = options;

  const checkAddresses = (addresses: readonly LookupAddress[]) => {
    if (addresses.length === 0) throw new TargetRefused('The host has no address.');
    // One that is not public is enough: a name with both kinds is a way around this check.
    if (!allowPrivate && !addresses.every(({ address }) => isPublicAddress(address))) {
      throw new TargetRefused('The host is not on the public internet.');
    }
  };

  const checkLiteral = (url: URL) => {
    if (url.protocol !== 'http:' && url.protocol !== 'https:') throw new TargetRefused('Only http and https are used.');
    if (!allowPrivate && !isSanePort(url)) throw new TargetRefused('The port must be 80, 443 or above 1023.');
    const host = hostOf(url);
    if (isIP(host) !== 0) checkAddresses([{ address: host, family: isIP(host) }]);
  };

  return {
    checkLiteral,
    check: async (url) => {
      checkLiteral(url);
      const host = hostOf(url);
      if (isIP(host) !== 0) return;
      const unresolved = () => new TargetRefused('The host cannot be resolved.');
      const addresses = await withDeadline(resolve(host), resolveTimeoutMs, unresolved).catch(() => {
        throw unresolved();
      });
      checkAddresses(addresses);
    },
    lookup: (hostname, { all }, callback) => {
      resolve(hostname).then(
        (addresses) => {
          try {
            checkAddresses(addresses);
          } catch (error) {
            return callback(error instanceof Error ? error : new TargetRefused('refused'), '');
          }
          const [first] = addresses;
          return all ? callback(null, addresses) : callback(null, first?.address ?? '', first?.family);
        },
        (error: Error) => callback(error, ''),
      );
    },
  };
}

/** The host without the brackets of IPv6. The URL parser has made one form of every way to write an IPv4 address. */
function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1');
}

/** Below 1024 live mail, name and login servers, which must not be talked to in their language by way of a body. */
function isSanePort(url: URL): boolean {
  const port = url.port === '' ? 80 : Number(url.port);
  return port === 80 || port === 443 || port > 1_023;
}

async function resolveAll(hostname: string): Promise<LookupAddress[]> {
  return await new Promise((resolve, reject) => {
    resolveWithSystem(hostname, { all: true }, (error, addresses) => (error ? reject(error) : resolve(addresses)));
  });
}
