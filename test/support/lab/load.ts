import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { type Answer, testApiKey } from '../api.ts';
import type { Call, Journal } from './journal.ts';
import type { Random } from './random.ts';

export interface LoadParts {
  /** Where the APIs are at this moment. */
  urls: () => readonly string[];
  journal: Journal;
  random: Random;
}

interface Sending extends Call {
  path: string;
  body: string;
  contentType?: string;
}

/** A client that hears nothing for this long hangs up and tries again. Longer than any wait for a result here. */
const attemptTimeoutMs = 8_000;
/** As long as a patient client goes on; far more than any recovery takes. */
const patienceMs = 180_000;
const retryPauseMs = 100;
/** As many calls are remembered. */
const repeatable = 30;

/** Clients as they should be: each repeats a call under its key until it has an answer. They note all that they hear. */
export class Load {
  readonly #parts: LoadParts;
  readonly #agent = new Agent({ connections: 100, keepAliveTimeout: 2_000 });
  #accounts: string[] = [];
  #isOver = false;
  /** The last calls, for `repeat`. */
  #sent: Sending[] = [];
  /** Calls that have their answer. */
  done = 0;
  /** The share of calls that are sent twice at once; as many are sent once more after their answer. */
  doubled = 0.06;

  constructor(parts: LoadParts) {
    this.#parts = parts;
  }

  get accounts(): readonly string[] {
    return this.#accounts;
  }

  /** A ring of accounts, some of which will run dry. */
  async openAccounts(count = 6): Promise<void> {
    const answers = await Promise.all(
      Array.from({ length: count }, (_, index) =>
        this.#post('account.open', '/v1/accounts', {
          owner: 'Ada',
          currency: 'EUR',
          openingBalance: 2_000,
          overdraftLimit: index % 2 === 0 ? 0 : 100,
        }),
      ),
    );
    this.#accounts = answers.map((answer) => answer?.body.id);
  }

  async openAccount(): Promise<Answer | undefined> {
    return await this.#post('account.open', '/v1/accounts', { owner: 'Ada', currency: 'EUR' });
  }

  async registerWebhook(url: string, events: readonly string[]): Promise<void> {
    await this.#post('webhook.register', '/v1/webhooks', { url, events });
  }

  /** So many transfers by so many clients at once. Every tenth asks for more than there is. */
  async transfers(count: number, clients = 20): Promise<void> {
    await this.#share(count, clients, () => this.transfer());
  }

  async transfer(): Promise<Answer | undefined> {
    return await this.#post('transfer.create', '/v1/transfers', this.#newTransfer());
  }

  #newTransfer() {
    const { random } = this.#parts;
    const from = random.between(0, this.#accounts.length - 1);
    const to = (from + random.between(1, this.#accounts.length - 1)) % this.#accounts.length;
    const amount = random.next() < 0.1 ? 50_000 : random.between(1, 50);
    return { fromAccountId: this.#accounts[from], toAccountId: this.#accounts[to], amount };
  }

  /** Customers with a proposal each, which is submitted and then accepted or rejected. */
  async proposals(count: number, clients = 5): Promise<void> {
    await this.#share(count, clients, () => this.proposal());
  }

  async proposal(): Promise<void> {
    const email = `${randomUUID()}@example.com`;
    const customer = await this.#post('customer.create', '/v1/customers', { name: 'Ada', email }, 'resource');
    if (!customer) return;
    const draft = { customerId: customer.body.id, amount: 1_000 };
    const proposal = await this.#post('proposal.create', '/v1/proposals', draft, 'resource');
    if (!proposal) return;
    const path = `/v1/proposals/${proposal.body.id}`;
    const submitted = await this.#post('proposal.submit', `${path}/submit`, { version: 1 }, 'resource');
    const verb = this.#parts.random.pick(['accept', 'reject']);
    if (submitted) await this.#post(`proposal.${verb}`, `${path}/${verb}`, { version: 2 }, 'resource');
  }

  /** Uploads a file of so many addresses and returns the id of its mailing. */
  async mailing(rows: number, { query = '' }: { query?: string } = {}): Promise<string | undefined> {
    const name = `${randomUUID()}.csv`;
    const lines = Array.from({ length: rows }, (_, index) => `user${index + 1}.${name.slice(0, 8)}@example.com`);
    const answer = await this.#send({
      operation: 'mailing.upload',
      key: name,
      sameness: 'resource',
      path: `/v1/mailings?filename=${name}${query}`,
      body: `email\n${lines.join('\n')}\n`,
      contentType: 'text/csv',
    });
    return answer?.body.mailingId;
  }

  /** So many transfers as lines of one request. What was not taken is sent again, as the lines of the next one. */
  async bulk(count: number): Promise<void> {
    const { journal } = this.#parts;
    let left = Array.from({ length: count }, () => ({
      operation: 'transfer.create',
      key: randomUUID(),
      request: this.#newTransfer(),
    }));
    journal.counts.calls += 1;
    const deadlineMs = Date.now() + patienceMs;
    while (left.length > 0 && Date.now() < deadlineMs && !this.#isOver) {
      const taken = new Set<string>();
      for (const line of await this.#sendBulk(left)) if (journal.noteBulkLine(line)) taken.add(line.key);
      // Now and then all of it goes once more, as from a script that was interrupted and run again.
      if (this.#parts.random.next() < 0.7) left = left.filter(({ key }) => !taken.has(key));
      if (left.length > 0) await pause(retryPauseMs);
    }
    if (left.length > 0 && !this.#isOver) journal.unanswered.push(`bulk of ${left.length}`);
    this.done += 1;
  }

  async #sendBulk(lines: readonly unknown[]): Promise<{ key: string; operationId?: string }[]> {
    const known = this.#parts.urls();
    if (known.length === 0) return [];
    const body = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
    const headers = { authorization: `Bearer ${testApiKey}`, 'content-type': 'application/x-ndjson' };
    try {
      const { status, text } = await this.#request(
        `${this.#parts.random.pick(known)}/v1/operations/bulk`,
        body,
        headers,
      );
      // A connection that breaks leaves half a line, which is no answer.
      return status === 200
        ? text
            .split('\n')
            .slice(0, -1)
            .map((line) => JSON.parse(line))
        : [];
    } catch {
      this.#parts.journal.counts.lost += 1;
      return [];
    }
  }

  /** Sends calls of before once more. */
  async repeat(): Promise<void> {
    for (const sending of [...this.#sent]) await this.#send(sending);
  }

  /** All calls end, with or without an answer. */
  end(): void {
    this.#isOver = true;
  }

  async close(): Promise<void> {
    this.end();
    await this.#agent.destroy();
  }

  async #share(count: number, clients: number, act: () => Promise<unknown>): Promise<void> {
    let left = count;
    const client = async () => {
      while (left > 0 && !this.#isOver) {
        left -= 1;
        await act();
      }
    };
    await Promise.all(Array.from({ length: Math.min(clients, count) }, client));
  }

  async #post(operation: string, path: string, body: unknown, sameness: Call['sameness'] = 'bytes') {
    return await this.#send({ operation, key: randomUUID(), sameness, path, body: JSON.stringify(body) });
  }

  /** The answer, or undefined if there was none in all that time. */
  async #send(sending: Sending): Promise<Answer | undefined> {
    const { journal, random } = this.#parts;
    journal.counts.calls += 1;
    this.#sent = [...this.#sent.slice(1 - repeatable), sending];
    const luck = random.next();
    const deadlineMs = Date.now() + patienceMs;
    let twin: Promise<unknown> | undefined;
    while (Date.now() < deadlineMs && !this.#isOver) {
      if (luck < this.doubled) twin ??= this.#try(sending).catch(() => undefined);
      const answer = await this.#try(sending);
      if (!answer) {
        await pause(retryPauseMs);
        continue;
      }
      await twin;
      if (luck > 1 - this.doubled) await this.#try(sending);
      this.done += 1;
      return answer;
    }
    if (!this.#isOver) journal.unanswered.push(`${sending.operation} ${sending.key}`);
    return undefined;
  }

  /** The answer, if this attempt brought it. */
  async #try({ path, body, contentType = 'application/json', ...call }: Sending): Promise<Answer | undefined> {
    const { journal, random, urls } = this.#parts;
    const known = urls();
    if (known.length === 0) return undefined;
    try {
      const answer = await this.#request(random.pick(known) + path, body, {
        authorization: `Bearer ${testApiKey}`,
        'content-type': contentType,
        ...(call.operation === 'mailing.upload' ? {} : { 'idempotency-key': call.key }),
      });
      return journal.note(call, answer) ? answer : undefined;
    } catch {
      journal.counts.lost += 1;
      return undefined;
    }
  }

  async #request(url: string, body: string, headers: Record<string, string>): Promise<Answer> {
    const signal = AbortSignal.timeout(attemptTimeoutMs);
    const answer = await request(url, { method: 'POST', dispatcher: this.#agent, headers, body, signal });
    const text = await answer.body.text();
    const isJson = /^application\/(problem\+)?json/.test(String(answer.headers['content-type']));
    return { status: answer.statusCode, headers: answer.headers, text, body: isJson ? JSON.parse(text) : undefined };
  }
}
