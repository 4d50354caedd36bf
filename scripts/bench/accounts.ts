import pg from 'pg';
import { schema } from './baselines/naive.ts';

const accountCount = 100;
// Enough for more units than any run can move.
const openingBalance = 1_000_000_000_000;

/** A database of the baseline's own beside Semel's, with its tables and accounts. */
export async function createNaiveAccounts(semelUrl: string): Promise<{ databaseUrl: string; accounts: string[] }> {
  await withClient(semelUrl, (client) => client.query('create database naive'));
  const url = new URL(semelUrl);
  url.pathname = '/naive';
  const accounts = await withClient(url.href, async (client) => {
    await client.query(schema);
    const { rows } = await client.query<{ id: string }>(
      'insert into accounts (balance) select $1 from generate_series(1, $2) returning id',
      [openingBalance, accountCount],
    );
    return rows.map((row) => row.id);
  });
  return { databaseUrl: url.href, accounts };
}

export async function createSemelAccounts(url: string, apiKey: string): Promise<string[]> {
  const create = async (index: number): Promise<string> => {
    const answer = await fetch(`${url}/v1/accounts`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${apiKey}`,
        'content-type': 'application/json',
        'idempotency-key': `bench-account-${index}`,
      },
      body: JSON.stringify({ owner: `bench ${index}`, currency: 'EUR', openingBalance }),
    });
    const body: unknown = await answer.json();
    if (answer.status === 201 && typeof body === 'object' && body !== null && 'id' in body) return String(body.id);
    throw new Error(`Semel opened no account: ${answer.status} ${JSON.stringify(body)}`);
  };
  return await Promise.all(Array.from({ length: accountCount }, (_, index) => create(index)));
}

export async function withClient<T>(url: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}
