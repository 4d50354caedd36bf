import { randomUUID } from 'node:crypto';
import type { Answer, Api, CallOptions } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { uploadCsv } from '../support/mailings.ts';

/** One thing of each kind that a client can own, by its id. */
export interface Planted {
  account: string;
  otherAccount: string;
  transfer: string;
  operation: string;
  customer: string;
  proposal: string;
  mailing: string;
  webhook: string;
  suppression: string;
}

/** For a service in which a client may register a webhook of this machine. */
export const plantingEnvironment = { WEBHOOK_ALLOW_PRIVATE: 'true' };

/** Makes one of everything for a client. */
export async function plantThings(api: Api, options: CallOptions = {}): Promise<Planted> {
  const create = async (path: string, body: unknown, field = 'id'): Promise<string> =>
    made(await api.post(path, body, { key: randomUUID(), ...options }))[field] ?? '';
  const account = await create('/v1/accounts', { owner: 'Ada', currency: 'EUR', openingBalance: 1_000 });
  const otherAccount = await create('/v1/accounts', { owner: 'Grace', currency: 'EUR' });
  const transfer = await create('/v1/transfers', { fromAccountId: account, toAccountId: otherAccount, amount: 1 });
  const customer = await create('/v1/customers', { name: 'Ada', email: `${randomUUID()}@example.com` });
  const proposal = await create('/v1/proposals', { customerId: customer, amount: 1 });
  // Port 9 discards whatever comes, if anybody listens at all.
  const webhook = await create('/v1/webhooks', { url: 'http://127.0.0.1:9/hook', events: ['transfer.completed'] });
  const suppression = await create('/v1/suppressions', { email: `${randomUUID()}@example.com` }, 'email');
  const mailing = made(await uploadCsv(api, 'email\nada@example.com\n', options)).mailingId ?? '';
  // Workers that are still at it would make it look as if something had changed.
  await eventually(async () => {
    const { status } = (await api.get(`/v1/mailings/${mailing}`, options)).body;
    if (status !== 'COMPLETED') throw new Error(`the mailing is ${status}`);
  });
  return {
    ...{ account, otherAccount, transfer, operation: transfer },
    ...{ customer, proposal, webhook, suppression, mailing },
  };
}

function made(answer: Answer): Record<string, string> {
  if (answer.status >= 300) throw new Error(`planting was answered with ${answer.status}: ${answer.text}`);
  return answer.body;
}
