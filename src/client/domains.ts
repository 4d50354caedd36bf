import { Resources } from './resources.ts';
import type {
  Account,
  CallOptions,
  Customer,
  Delivery,
  Movement,
  NewAccount,
  NewCustomer,
  NewProposal,
  NewTransfer,
  NewWebhook,
  Proposal,
  RegisteredWebhook,
  RunOptions,
  Transfer,
  Webhook,
} from './types.ts';

export class Accounts extends Resources {
  async open(account: NewAccount, options?: RunOptions): Promise<Account> {
    return (await this.run<Account>('/v1/accounts', account, options)).body;
  }
  async find(id: string, options?: CallOptions): Promise<Account> {
    return await this.get(`/v1/accounts/${encodeURIComponent(id)}`, options);
  }
  movements(id: string, options?: CallOptions): AsyncGenerator<Movement> {
    return this.list(`/v1/accounts/${encodeURIComponent(id)}/movements`, {}, options);
  }
}

export class Transfers extends Resources {
  async create(transfer: NewTransfer, options?: RunOptions): Promise<Transfer> {
    return (await this.run<Transfer>('/v1/transfers', transfer, options)).body;
  }
  async find(id: string, options?: CallOptions): Promise<Transfer> {
    return await this.get(`/v1/transfers/${encodeURIComponent(id)}`, options);
  }
}

export class Customers extends Resources {
  async create(customer: NewCustomer, options?: RunOptions): Promise<Customer> {
    return (await this.run<Customer>('/v1/customers', customer, options)).body;
  }
  async find(id: string, options?: CallOptions): Promise<Customer> {
    return await this.get(`/v1/customers/${encodeURIComponent(id)}`, options);
  }
}

export class Proposals extends Resources {
  async create(proposal: NewProposal, options?: RunOptions): Promise<Proposal> {
    return (await this.run<Proposal>('/v1/proposals', proposal, options)).body;
  }
  async find(id: string, options?: CallOptions): Promise<Proposal> {
    return await this.get(`/v1/proposals/${encodeURIComponent(id)}`, options);
  }
  all(filter: { customerId?: string; status?: Proposal['status'] } = {}, options?: CallOptions) {
    return this.list<Proposal>('/v1/proposals', filter, options);
  }
  async submit(seen: Pick<Proposal, 'id' | 'version'>, options?: RunOptions): Promise<Proposal> {
    return await this.#move(seen, 'submit', options);
  }
  async accept(seen: Pick<Proposal, 'id' | 'version'>, options?: RunOptions): Promise<Proposal> {
    return await this.#move(seen, 'accept', options);
  }
  async reject(seen: Pick<Proposal, 'id' | 'version'>, options?: RunOptions): Promise<Proposal> {
    return await this.#move(seen, 'reject', options);
  }
  async #move({ id, version }: Pick<Proposal, 'id' | 'version'>, verb: string, options?: RunOptions) {
    return (await this.run<Proposal>(`/v1/proposals/${encodeURIComponent(id)}/${verb}`, { version }, options)).body;
  }
}

export class Webhooks extends Resources {
  async register(webhook: NewWebhook, options?: RunOptions): Promise<RegisteredWebhook> {
    return (await this.run<RegisteredWebhook>('/v1/webhooks', webhook, options)).body;
  }
  async find(id: string, options?: CallOptions): Promise<Webhook> {
    return await this.get(`/v1/webhooks/${encodeURIComponent(id)}`, options);
  }
  all(options?: CallOptions): AsyncGenerator<Webhook> {
    return this.list('/v1/webhooks', {}, options);
  }
  deliveries(id: string, options?: CallOptions): AsyncGenerator<Delivery> {
    return this.list(`/v1/webhooks/${encodeURIComponent(id)}/deliveries`, {}, options);
  }
  async remove(id: string, options: CallOptions = {}): Promise<void> {
    await this.act('DELETE', `/v1/webhooks/${encodeURIComponent(id)}`, { ...options, isRepeatable: false });
  }
  /** Each test is a delivery of its own, so a lost answer is not made good by another one. */
  async test(id: string, options: CallOptions = {}): Promise<{ eventId: string }> {
    return await this.act('POST', `/v1/webhooks/${encodeURIComponent(id)}/test`, { ...options, isRepeatable: false });
  }
}
