import type { Address } from './choose-address.ts';
import type { Credentials } from './credentials.ts';

export function renderBanner(address: Address, dataDir: string, { apiKey, adminPassword }: Credentials): string {
  const body = JSON.stringify({ owner: 'Ada', currency: 'EUR', openingBalance: 10_000 });
  return `
Semel is running.

  API             ${address.url}
  Reference       ${address.url}/docs
  Health          ${address.url}/health
  Data            ${dataDir}
  API key         ${apiKey}
  Queues          ${address.url}/queues
  Administrator   admin / ${adminPassword}

Open an account (send it twice: the answer is the same, and so is the account):

  curl -i ${quote(`${address.url}/v1/accounts`)} \\
    -H ${quote(`Authorization: Bearer ${apiKey}`)} \\
    -H 'Idempotency-Key: my-first-account' \\
    -H 'Content-Type: application/json' \\
    -d ${quote(body)}

Ctrl-C stops everything; the data is kept.
`;
}

/** Safe in any POSIX shell, whatever an API key from the environment contains. */
function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
