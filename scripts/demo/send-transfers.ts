import { formatCount, type Screen } from './screen.ts';
import type { SemelApi } from './semel-api.ts';

export interface Accounts {
  readonly ada: string;
  readonly grace: string;
}

export const openingBalance = 1_000_000;
export const copies = 50;
export const queuedTransfers = 300;
/** What they are found by in the ledger. */
export const copiedDescription = 'one transfer';
export const describeQueued = (index: number): string => `queued transfer ${index}`;
export const copiedAmount = 2_500;
export const queuedAmount = 1;

export async function openAccounts(api: SemelApi, screen: Screen): Promise<Accounts> {
  const open = async (owner: string): Promise<string> => {
    const body = { owner, currency: 'EUR', openingBalance };
    const { id } = await api.ask<{ id: string }>('/v1/accounts', { body, key: `account-of-${owner}` });
    screen.say(`${owner} has an account with ${formatCount(openingBalance / 100)} EUR.`);
    return id;
  };
  return { ada: await open('Ada'), grace: await open('Grace') };
}

/** The same request fifty times at once, as an impatient client and its proxies would send it. */
export async function sendCopies(
  api: SemelApi,
  screen: Screen,
  { ada, grace }: Accounts,
  isSabotaged: boolean,
): Promise<void> {
  const body = { fromAccountId: ada, toAccountId: grace, amount: copiedAmount, description: copiedDescription };
  const keyOf = (index: number): string => (isSabotaged && index === 0 ? 'another-key' : 'the-one-key');
  const answers = await Promise.all(
    Array.from({ length: copies }, (_, index) => api.send('/v1/transfers', { body, key: keyOf(index) })),
  );
  const replays = answers.filter(({ headers }) => headers.get('idempotent-replayed') === 'true').length;
  const statuses = [...new Set(answers.map(({ status }) => status))];
  screen.say(`${copies} answers with status ${statuses.join(', ')}: ${copies - replays} new, ${replays} replayed.`);
  const different = new Set(answers.map(({ text }) => text)).size;
  screen.say(`${different === 1 ? 'All have the same body, byte for byte' : `They have ${different} bodies`}.`);
}

/** Taken while nobody works on them: each answer is 202, which is a promise. */
export async function queueTransfers(
  api: SemelApi,
  screen: Screen,
  { ada, grace }: Accounts,
  isSabotaged: boolean,
): Promise<void> {
  let accepted = 0;
  const send = async (index: number): Promise<void> => {
    const description = describeQueued(index);
    const body = { fromAccountId: grace, toAccountId: ada, amount: queuedAmount, description };
    const { status, text } = await api.send('/v1/transfers', {
      body,
      key: `queued-transfer-${index}`,
      prefer: 'respond-async',
    });
    if (status !== 202) throw new Error(`Semel answered ${status} instead of 202: ${text}`);
    accepted += 1;
    screen.progress('transfers accepted', accepted, queuedTransfers);
  };
  const indexes = Array.from({ length: queuedTransfers }, (_, index) => index);
  await Promise.all(indexes.slice(isSabotaged ? 1 : 0).map(send));
  screen.say(`${formatCount(accepted)} transfers were accepted with 202. Nobody works on them yet.`);
}
