import { Resolver } from 'node:dns/promises';
import { LRUCache } from 'lru-cache';
import { withDeadline } from '../../../store/deadline.ts';

/** `none` is certain: no mail can go there. `unknown` says nothing about the domain. */
export type MxVerdict = 'ok' | 'none' | 'unknown';

export interface MxChecker {
  /** Takes a domain in its lower-case ASCII form. Never rejects. */
  check(domain: string): Promise<MxVerdict>;
}

export interface MxCheckerOptions {
  /** As `127.0.0.1:5353`; without them, the system's. */
  servers?: readonly string[];
  /** For all that one domain needs. */
  timeoutMs?: number;
  cacheSize?: number;
  /** Milliseconds since any moment; for tests. */
  now?: () => number;
}

/** A name server that takes longer is broken, and many addresses wait behind this one. */
const defaultTimeoutMs = 5_000;
/** A million addresses have fewer domains than this that occur more than once; an entry is some hundred bytes. */
const defaultCacheSize = 50_000;
/** Domains rarely gain or lose their mail servers. */
const definiteTtlMs = 60 * 60 * 1000;
/** Long enough not to ask a broken server for each address, short enough to notice that it works again. */
const unknownTtlMs = 60 * 1000;
/** What a resolver answers without dropping packets. */
const maxQueries = 50;

export function createMxChecker(options: MxCheckerOptions): MxChecker {
  const { servers, timeoutMs = defaultTimeoutMs, cacheSize = defaultCacheSize, now } = options;
  const verdicts = new LRUCache<string, MxVerdict>({
    max: cacheSize,
    ...(now && { perf: { now }, ttlResolution: 0 }),
  });
  const running = new Map<string, Promise<MxVerdict>>();
  const withResolver = poolOf(maxQueries, () => createResolver(servers, timeoutMs));

  const look = async (domain: string): Promise<MxVerdict> => {
    const verdict = await withResolver((resolver) => lookUp(resolver, domain, timeoutMs));
    verdicts.set(domain, verdict, { ttl: verdict === 'unknown' ? unknownTtlMs : definiteTtlMs });
    running.delete(domain);
    return verdict;
  };

  return {
    check: async (domain) => {
      const known = verdicts.get(domain);
      if (known !== undefined) return known;
      const already = running.get(domain);
      if (already !== undefined) return await already;
      const lookup = look(domain);
      running.set(domain, lookup);
      return await lookup;
    },
  };
}

function createResolver(servers: readonly string[] | undefined, timeoutMs: number): Resolver {
  // A packet may be lost, so there is a second try, for which the resolver doubles the time: three parts in all.
  const resolver = new Resolver({ timeout: Math.max(1, Math.floor(timeoutMs / 3)), tries: 2 });
  if (servers !== undefined) resolver.setServers(servers);
  return resolver;
}

async function lookUp(resolver: Resolver, domain: string, timeoutMs: number): Promise<MxVerdict> {
  try {
    return await withDeadline(askServers(resolver, domain), timeoutMs, () => new Error('the name servers are slow'));
  } catch {
    // Whatever went wrong, it went wrong on the way, and nobody is refused for it. A late query must not go on.
    resolver.cancel();
    return 'unknown';
  }
}

/** One query after the other, so that as many run as there are resolvers. */
async function askServers(resolver: Resolver, domain: string): Promise<MxVerdict> {
  try {
    const records = await resolver.resolveMx(domain);
    // RFC 7505: a domain that takes no mail names the root as its server.
    return records.some(({ exchange }) => exchange !== '' && exchange !== '.') ? 'ok' : 'none';
  } catch (error) {
    if (hasNoName(error)) return 'none';
    if (!hasNoRecord(error)) throw error;
  }
  // RFC 5321: a domain without mail servers is its own, if it has an address.
  for (const resolve of [() => resolver.resolve4(domain), () => resolver.resolve6(domain)]) {
    try {
      if ((await resolve()).length > 0) return 'ok';
    } catch (error) {
      if (!hasNoName(error) && !hasNoRecord(error)) throw error;
    }
  }
  return 'none';
}

function hasNoName(error: unknown): boolean {
  return codeOf(error) === 'ENOTFOUND';
}

function hasNoRecord(error: unknown): boolean {
  return codeOf(error) === 'ENODATA';
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}

/** Lends things out, makes them when they are first needed, and lets those wait who find all of them lent. */
function poolOf<R>(size: number, create: () => R): <T>(work: (resource: R) => Promise<T>) => Promise<T> {
  const free: R[] = [];
  const waiting: ((resource: R) => void)[] = [];
  let made = 0;
  const take = async (): Promise<R> => {
    const resource = free.pop();
    if (resource !== undefined) return resource;
    if (made === size) return await new Promise((resolve) => waiting.push(resolve));
    made += 1;
    return create();
  };
  return async (work) => {
    const resource = await take();
    try {
      return await work(resource);
    } finally {
      const next = waiting.shift();
      if (next) next(resource);
      else free.push(resource);
    }
  };
}
