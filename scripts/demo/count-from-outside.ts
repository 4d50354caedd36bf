import type { Client } from 'pg';
import { withClient } from '../bench/accounts.ts';
import { addresses } from './send-mailing.ts';
import {
  type Accounts,
  copiedAmount,
  copiedDescription,
  describeQueued,
  openingBalance,
  queuedAmount,
  queuedTransfers,
} from './send-transfers.ts';

export interface Count {
  readonly asked: string;
  readonly wanted: number;
  readonly happened: number;
  readonly duplicates: number;
  readonly lost: number;
}

export interface Verdict {
  readonly counts: readonly Count[];
  /** What is wrong beside duplicates and losses. */
  readonly faults: readonly string[];
}

/** Believes nothing that Semel answered: reads the tables of the ledger, and what the mail server received. */
export async function countFromOutside(
  databaseUrl: string,
  accounts: Accounts,
  received: ReadonlyMap<string, number>,
): Promise<Verdict> {
  return await withClient(databaseUrl, async (client) => {
    const transfers = await countBy(client, 'select description as name, count(*)::int4 from transfers group by 1');
    const owners = await countBy(
      client,
      `select owner as name, count(*)::int4 from accounts where kind = 'customer' group by 1`,
    );
    const queued = Array.from({ length: queuedTransfers }, (_, index) => describeQueued(index));
    const counts = [
      compare('two accounts', ['Ada', 'Grace'], owners),
      compare('one transfer, sent 50 times at once', [copiedDescription], transfers),
      compare('transfers queued when Redis was emptied', queued, transfers),
      compare('mails, their worker killed in the middle', addresses, received),
    ];
    return { counts, faults: await findFaults(client, accounts) };
  });
}

function compare(asked: string, wanted: readonly string[], found: ReadonlyMap<string, number>): Count {
  const times = wanted.map((name) => found.get(name) ?? 0);
  const happened = times.reduce((sum, each) => sum + each, 0);
  const lost = times.filter((each) => each === 0).length;
  return { asked, wanted: wanted.length, happened, duplicates: happened - (wanted.length - lost), lost };
}

async function countBy(client: Client, query: string): Promise<Map<string, number>> {
  const { rows } = await client.query<{ name: string; count: number }>(query);
  return new Map(rows.map(({ name, count }) => [name, count]));
}

async function findFaults(client: Client, { ada, grace }: Accounts): Promise<string[]> {
  const { rows } = await client.query<{ balance: number; moved: number; total: number }>(
    `select a.balance::float8 as balance, sum(m.amount)::float8 as moved,
       (select sum(amount)::float8 from movements) as total
     from accounts a join movements m on m.account_id = a.id where a.id in ($1, $2)
     group by a.id order by a.id = $1 desc`,
    [ada, grace],
  );
  const gained = queuedTransfers * queuedAmount - copiedAmount;
  const wanted = [openingBalance + gained, openingBalance - gained];
  return [
    ...rows.flatMap(({ balance, moved }, index) =>
      balance === wanted[index] && moved === balance
        ? []
        : [
            `${['Ada', 'Grace'][index]} has ${balance} cents by the account and ${moved} by the movements, not ${wanted[index]}.`,
          ],
    ),
    ...(rows.length === 2 && rows.every(({ total }) => total === 0) ? [] : ['The movements do not sum to zero.']),
  ];
}
