import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Answer, RecordType } from 'dns-packet';
import { afterEach, describe, expect, it } from 'vitest';
import { createMxChecker } from '../../../../src/processors/mailings/addresses/mx-checker.ts';
import { eventually } from '../../../support/eventually.ts';
import { type DnsServer, type Reply, startDnsServer } from './dns-server.ts';

const servers: DnsServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

async function start(reply: (type: RecordType, name: string) => Reply | undefined | Promise<Reply | undefined>) {
  const server = await startDnsServer(reply);
  servers.push(server);
  return server;
}

const mx = (name: string, exchange: string): Answer => ({ type: 'MX', name, data: { preference: 0, exchange } });
const a = (name: string): Answer => ({ type: 'A', name, data: '192.0.2.1' });
const aaaa = (name: string): Answer => ({ type: 'AAAA', name, data: '2001:db8::1' });
/** Half a second for those that wait for a reply that never comes. */
const timeoutMs = 500;

/** The replies by type; without any, there is no such record. */
const zones: Record<string, Partial<Record<string, Reply | 'silence'>>> = {
  'mx.example': { MX: { answers: [mx('mx.example', 'mail.example')] } },
  'a-only.example': { A: { answers: [a('a-only.example')] } },
  'aaaa-only.example': { AAAA: { answers: [aaaa('aaaa-only.example')] } },
  'absent.example': { MX: { code: 'NXDOMAIN' }, A: { code: 'NXDOMAIN' }, AAAA: { code: 'NXDOMAIN' } },
  'bare.example': {},
  'null-mx.example': { MX: { answers: [mx('null-mx.example', '.')] }, A: { answers: [a('null-mx.example')] } },
  'broken.example': { MX: { code: 'SERVFAIL' } },
  'refused.example': { MX: { code: 'REFUSED' } },
  'silent.example': { MX: 'silence' },
  'half-broken.example': { A: { code: 'SERVFAIL' } },
  'half-silent.example': { AAAA: 'silence' },
};

async function startZones(): Promise<DnsServer> {
  return await start((type, name) => {
    const reply = zones[name]?.[type] ?? {};
    return reply === 'silence' ? undefined : reply;
  });
}

describe('a domain', () => {
  it.each([
    ['mx.example', 'ok', 'it has a mail server'],
    ['a-only.example', 'ok', 'it has an address, and is its own mail server'],
    ['aaaa-only.example', 'ok', 'it has an address of the new kind'],
    ['absent.example', 'none', 'it does not exist'],
    ['bare.example', 'none', 'it has neither mail server nor address'],
    ['null-mx.example', 'none', 'it says that it takes no mail, whatever its address'],
    ['broken.example', 'unknown', 'its name server fails'],
    ['refused.example', 'unknown', 'its name server refuses'],
    ['silent.example', 'unknown', 'its name server says nothing'],
    ['half-broken.example', 'unknown', 'its name server fails at the address'],
    ['half-silent.example', 'unknown', 'its name server says nothing about the last kind of address'],
  ])('%s is %s: %s', async (domain, verdict) => {
    const { address } = await startZones();
    expect(await createMxChecker({ servers: [address], timeoutMs }).check(domain)).toBe(verdict);
  });

  it('is unknown if no name server is there, or if it is no name', async () => {
    const gone = await startDnsServer(() => undefined);
    await gone.close();
    const checker = createMxChecker({ servers: [gone.address], timeoutMs });
    expect(await checker.check('mx.example')).toBe('unknown');
    expect(await checker.check(`${'x'.repeat(64)}.example`)).toBe('unknown');
  });
});

describe('a verdict is kept', () => {
  it.each([
    ['mx.example', 60 * 60 * 1000],
    ['absent.example', 60 * 60 * 1000],
    ['refused.example', 60 * 1000],
  ])('%s for %d ms, and asked for again after that', async (domain, keptMs) => {
    let nowMs = 1;
    const { address, questions } = await startZones();
    const checker = createMxChecker({ servers: [address], timeoutMs, now: () => nowMs });
    const verdict = await checker.check(domain);
    const asked = questions.length;
    nowMs += keptMs - 1;
    expect(await checker.check(domain)).toBe(verdict);
    expect(questions).toHaveLength(asked);
    nowMs += 2;
    expect(await checker.check(domain)).toBe(verdict);
    expect(questions.length).toBeGreaterThan(asked);
  });

  it('for as many domains as there is room for', async () => {
    const { address, questions } = await startZones();
    const checker = createMxChecker({ servers: [address], cacheSize: 2 });
    for (const domain of ['mx.example', 'absent.example', 'null-mx.example', 'null-mx.example', 'mx.example']) {
      await checker.check(domain);
    }
    const forgotten = 'MX mx.example';
    expect(questions).toEqual([forgotten, 'MX absent.example', 'MX null-mx.example', forgotten]);
  });
});

describe('name servers are spared', () => {
  it('who ask about one domain at once share one question', async () => {
    const { address, questions } = await startZones();
    const checker = createMxChecker({ servers: [address] });
    const verdicts = await Promise.all(Array.from({ length: 200 }, () => checker.check('mx.example')));
    expect(new Set(verdicts)).toEqual(new Set(['ok']));
    expect(questions).toEqual(['MX mx.example']);
  });

  it('fifty questions at most are open at once, and all are answered in the end', async () => {
    let openGate = () => {};
    const gate = new Promise<void>((resolve) => {
      openGate = resolve;
    });
    let open = 0;
    let mostOpen = 0;
    const { address, questions } = await start(async (_, name) => {
      open += 1;
      mostOpen = Math.max(mostOpen, open);
      await gate;
      await nextTurn();
      open -= 1;
      return { answers: [mx(name, 'mail.example')] };
    });
    // Nothing may be asked twice here because the gate opened late.
    const checker = createMxChecker({ servers: [address], timeoutMs: 60_000 });
    const checks = Array.from({ length: 175 }, (_, index) => checker.check(`d${index}.example`));
    await eventually(() => expect(questions).toHaveLength(50));
    openGate();
    expect(new Set(await Promise.all(checks))).toEqual(new Set(['ok']));
    expect(mostOpen).toBe(50);
    expect(new Set(questions).size).toBe(175);
  });

  it('a silent server holds nobody up for longer than the timeout of each', async () => {
    const { address } = await start((_, name) =>
      name.startsWith('silent') ? undefined : { answers: [mx(name, 'm.example')] },
    );
    const checker = createMxChecker({ servers: [address], timeoutMs });
    const silent = Array.from({ length: 50 }, (_, index) => checker.check(`silent${index}.example`));
    expect(await checker.check('mx.example')).toBe('ok');
    expect(new Set(await Promise.all(silent))).toEqual(new Set(['unknown']));
    expect(await checker.check('other.example')).toBe('ok');
  });
});
