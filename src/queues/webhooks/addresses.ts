import { BlockList, isIP, isIPv6 } from 'node:net';

/** IPv4 networks that are not the public internet (IANA's special-purpose registry). */
const closedIpv4: readonly [network: string, prefix: number][] = [
  ['0.0.0.0', 8], // this host
  ['10.0.0.0', 8], // private
  ['100.64.0.0', 10], // behind a carrier's NAT
  ['127.0.0.0', 8], // loopback
  ['169.254.0.0', 16], // link-local, with the metadata services of clouds
  ['172.16.0.0', 12], // private
  ['192.0.0.0', 24], // protocol assignments
  ['192.0.2.0', 24], // documentation
  ['192.88.99.0', 24], // 6to4 relays
  ['192.168.0.0', 16], // private
  ['198.18.0.0', 15], // benchmarks
  ['198.51.100.0', 24], // documentation
  ['203.0.113.0', 24], // documentation
  ['224.0.0.0', 4], // multicast
  ['240.0.0.0', 4], // reserved, and broadcast
];

/** Of IPv6, only these lead to the public internet: global unicast, and IPv4 behind a NAT64. */
const openIpv6 = networksOf([
  ['2000::', 3],
  ['64:ff9b::', 96],
]);

const closedIpv6 = networksOf([
  ['2001::', 23], // protocol assignments, with Teredo
  ['2001:db8::', 32], // documentation
  ['3fff::', 20], // documentation
  // The closed IPv4 networks, as NAT64 and 6to4 write them.
  ...closedIpv4.map(([network, prefix]): [string, number] => [`64:ff9b::${network}`, 96 + prefix]),
  ...closedIpv4.map(([network, prefix]): [string, number] => [`2002:${toHex(network)}::`, 16 + prefix]),
]);

const closed = new BlockList();
for (const [network, prefix] of closedIpv4) closed.addSubnet(network, prefix, 'ipv4');

/** Whether an address is on the public internet. An IPv4 address that is dressed as IPv6 (::ffff:…) never is. */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 0) return false;
  if (!isIPv6(address)) return !closed.check(address, 'ipv4');
  // A zone (fe80::1%eth0) is only for networks that are not public.
  return !address.includes('%') && openIpv6.check(address, 'ipv6') && !closedIpv6.check(address, 'ipv6');
}

function networksOf(networks: readonly [network: string, prefix: number][]): BlockList {
  const list = new BlockList();
  for (const [network, prefix] of networks) list.addSubnet(network, prefix, 'ipv6');
  return list;
}

function toHex(ipv4: string): string {
  const [a = 0, b = 0, c = 0, d = 0] = ipv4.split('.').map(Number);
  return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
}
