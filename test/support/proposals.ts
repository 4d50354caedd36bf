import { randomUUID } from 'node:crypto';
import type { Answer, Api, CallOptions } from './api.ts';

export type Verb = 'submit' | 'accept' | 'reject';

/** Creates a customer with an email of its own and returns its id. */
export async function newCustomer(api: Api, options: CallOptions = {}): Promise<string> {
  const body = { name: 'João Silva', email: `${randomUUID()}@example.com` };
  return idOf(await api.post('/v1/customers', body, options));
}

/** Creates a draft, and a customer for it unless one is given. Returns its id. */
export async function newProposal(api: Api, more: { customerId?: string; amount?: number } = {}): Promise<string> {
  const customerId = more.customerId ?? (await newCustomer(api));
  return idOf(await api.post('/v1/proposals', { amount: 150_000, ...more, customerId }));
}

export async function move(
  api: Api,
  id: string,
  verb: Verb,
  version: number,
  options: CallOptions = {},
): Promise<Answer> {
  return await api.post(`/v1/proposals/${id}/${verb}`, { version }, options);
}

function idOf(answer: Answer): string {
  if (answer.status !== 201) throw new Error(`a create answered ${answer.status}: ${answer.text}`);
  return answer.body.id;
}
