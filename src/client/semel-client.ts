import { Accounts, Customers, Proposals, Transfers, Webhooks } from './domains.ts';
import { Http } from './http.ts';
import { Mailings } from './mailings.ts';
import { Operations } from './operations.ts';
import type { ClientOptions } from './types.ts';

/** Calls Semel so that each call has its effect once, whatever happens to the connection. */
export class SemelClient {
  readonly accounts: Accounts;
  readonly transfers: Transfers;
  readonly customers: Customers;
  readonly proposals: Proposals;
  readonly mailings: Mailings;
  readonly webhooks: Webhooks;
  readonly operations: Operations;

  constructor(options: ClientOptions) {
    const http = new Http(options);
    this.accounts = new Accounts(http);
    this.transfers = new Transfers(http);
    this.customers = new Customers(http);
    this.proposals = new Proposals(http);
    this.mailings = new Mailings(http);
    this.webhooks = new Webhooks(http);
    this.operations = new Operations(http);
  }
}
