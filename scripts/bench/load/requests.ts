import type { LoadPlan } from './protocol.ts';

/** Makes the requests of a plan, one after the other; undefined when there are no more. */
export function createRequests(plan: LoadPlan): () => string | undefined {
  const headers = Object.entries(plan.headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = `POST ${plan.path} HTTP/1.1\r\nhost: 127.0.0.1:${plan.port}\r\ncontent-type: application/json\r\n${headers.join('')}`;
  let sent = 0;
  return () => {
    const index = plan.keys === 'repeat' ? sent % plan.keyCount : sent;
    if (plan.keys === 'once' && index >= plan.keyCount) return undefined;
    sent += 1;
    const body = bodyOf(plan.accounts, index);
    return `${head}idempotency-key: ${plan.keyPrefix}${index}\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
  };
}

/** The pair looks random and depends on the index alone, so that a key is always sent with the same body. */
function bodyOf(accounts: readonly string[], index: number): string {
  const random = scatter(index);
  const from = random % accounts.length;
  const to = (from + 1 + ((random >>> 16) % (accounts.length - 1))) % accounts.length;
  return `{"fromAccountId":"${accounts[from]}","toAccountId":"${accounts[to]}","amount":1}`;
}

/** A hash of 32 bits (the finaliser of MurmurHash3): neighbours get unrelated values. */
function scatter(value: number): number {
  let mixed = value + 1;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
