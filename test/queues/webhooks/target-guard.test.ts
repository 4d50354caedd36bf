import type { LookupAddress } from 'node:dns';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isPublicAddress } from '../../../src/queues/webhooks/addresses.ts';
import { createTargetGuard, TargetRefused } from '../../../src/queues/webhooks/target-guard.ts';
import { openPumpFixture, type PumpFixture } from './pump-fixture.ts';
import { Receiver } from './receiver.ts';

const closed = [
  '0.0.0.0',
  '10.0.0.1',
  '100.64.0.1',
  '127.0.0.1',
  '127.255.255.255',
  '169.254.169.254',
  '172.31.255.255',
];
const closedToo = [
  '192.168.0.1',
  '192.0.2.1',
  '198.18.0.1',
  '198.51.100.1',
  '203.0.113.1',
  '224.0.0.1',
  '255.255.255.255',
];
const open = ['1.1.1.1', '9.255.255.255', '11.0.0.0', '93.184.216.34', '100.128.0.1', '172.32.0.1', '192.167.1.1'];
const toHex = (ipv4: string) => {
  const [a = 0, b = 0, c = 0, d = 0] = ipv4.split('.').map(Number);
  return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
};

describe('an address', () => {
  it.each([...closed, ...closedToo])('%s is not public, in whatever form IPv6 carries it', (address) => {
    const forms = [`::ffff:${address}`, `::${address}`, `64:ff9b::${address}`, `2002:${toHex(address)}::1`];
    expect([address, ...forms].filter(isPublicAddress)).toEqual([]);
  });

  it.each(['::', '::1', 'fe80::1', 'fe80::1%lo', 'fc00::1', 'fdff::1', 'ff02::1', 'fec0::1', '100::1', '2001::1'])(
    '%s is not public',
    (address) => expect(isPublicAddress(address)).toBe(false),
  );

  it.each(['2001:db8::1', '64:ff9b:1::1', '::ffff:0:127.0.0.1', '', 'localhost', '127.1', '2130706433'])(
    '%s is not public',
    (address) => expect(isPublicAddress(address)).toBe(false),
  );

  it.each(open)('%s is public, also behind a NAT64', (address) => {
    expect([address, `64:ff9b::${address}`].map(isPublicAddress)).toEqual([true, true]);
  });

  it.each(['2606:4700::1111', '2a00:1450:4001::200e'])('%s is public', (address) =>
    expect(isPublicAddress(address)).toBe(true),
  );
});

describe('a URL', () => {
  const guard = createTargetGuard({ allowPrivate: false, resolve: async () => [] });

  it('with any spelling of a loopback address is refused', () => {
    const part = (value: number) =>
      fc.constantFrom(String(value), `0x${value.toString(16)}`, `0${value.toString(8)}`, `000${value.toString(8)}`);
    const spelling = fc.nat({ max: 0xffffff }).chain((rest) => {
      const bytes = [(rest >> 16) & 255, (rest >> 8) & 255, rest & 255];
      return fc.oneof(
        part(127 * 2 ** 24 + rest),
        fc.tuple(part(127), part(rest)).map((parts) => parts.join('.')),
        fc.tuple(part(127), ...bytes.map(part)).map((parts) => parts.join('.')),
      );
    });
    fc.assert(
      fc.property(spelling, (host) => {
        expect(() => guard.checkLiteral(new URL(`http://${host}/`))).toThrow(TargetRefused);
      }),
    );
  });

  it('with a port of other services is refused, and with a usual one is not', () => {
    const check = (port: string) => guard.checkLiteral(new URL(`http://hooks.example${port}/`));
    for (const port of [':0', ':22', ':25', ':1023']) expect(() => check(port)).toThrow(TargetRefused);
    for (const port of ['', ':80', ':443', ':8080', ':65535']) expect(() => check(port)).not.toThrow();
  });
});

describe('at delivery', () => {
  let fixture: PumpFixture;
  let receiver: Receiver;

  beforeAll(async () => {
    fixture = await openPumpFixture();
    receiver = await new Receiver().listen();
  });

  afterAll(async () => {
    await receiver.close();
    await fixture.close();
  });

  const deliverTo = async (host: string, resolve: () => Promise<LookupAddress[]>) => {
    const { id } = await fixture.register(`http://${host}:${receiver.port}/`);
    await fixture.emit();
    const pump = fixture.createPump({ guard: createTargetGuard({ allowPrivate: false, resolve }) });
    await pump.runOnce();
    await pump.drain();
    const [delivery] = await fixture.deliveriesOf(id);
    await fixture.db.deleteFrom('webhooks').execute();
    return delivery;
  };
  const refused = { status: 'PENDING', last_status: null, last_error: 'The host is not on the public internet.' };

  it.each(['127.0.0.1', '127.1', '2130706433', '0x7f.1', '[::ffff:127.0.0.1]', '0'])(
    'the private target %s is refused',
    async (host) => {
      expect(await deliverTo(host, async () => [])).toMatchObject(refused);
      expect(receiver.received).toEqual([]);
    },
  );

  it('a name that was public when it was registered and is private now is refused', async () => {
    const answers = ['93.184.216.34', '127.0.0.1', '127.0.0.1'];
    const resolve = async () => [{ address: answers.shift() ?? '127.0.0.1', family: 4 }];
    const guard = createTargetGuard({ allowPrivate: false, resolve });
    await guard.check(new URL('http://rebinding.example/'));
    expect(await deliverTo('rebinding.example', resolve)).toMatchObject(refused);
    expect(receiver.received).toEqual([]);
  });

  it('the address that was checked is the one that is connected to: the name is asked once', async () => {
    let questions = 0;
    const resolve = async () => {
      questions += 1;
      return [{ address: '127.0.0.1', family: 4 }];
    };
    const { id } = await fixture.register(`http://asked-once.example:${receiver.port}/`);
    await fixture.emit();
    await fixture.createPump({ guard: createTargetGuard({ allowPrivate: true, resolve }) }).runOnce();
    expect(questions).toBe(1);
    expect(await fixture.deliveriesOf(id)).toMatchObject([{ status: 'DELIVERED' }]);
    expect(receiver.received.at(-1)?.headers.host).toBe(`asked-once.example:${receiver.port}`);
    receiver.received.length = 0;
    await fixture.db.deleteFrom('webhooks').execute();
  });

  it('a name with one private address among public ones is refused', async () => {
    const both = ['93.184.216.34', '127.0.0.1'].map((address) => ({ address, family: 4 }));
    expect(await deliverTo('both.example', async () => both)).toMatchObject(refused);
    expect(receiver.received).toEqual([]);
  });
});
