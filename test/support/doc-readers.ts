import { randomUUID } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sql } from 'kysely';
import { expect } from 'vitest';
import { z } from 'zod';
import { defineOperation, printableKey } from '../../src/processors/define-operation.ts';
import { ensureApiKey } from '../../src/store/api-keys.ts';
import { DocShell, type Placeholders } from './doc-shell.ts';
import { eventually } from './eventually.ts';
import type { TestService } from './service.ts';

/** What a page shows as gone wrong has to go wrong here, too. The service of the test needs it. */
export const failing = defineOperation({
  name: 'docs.failing',
  request: z.strictObject({}),
  key: { required: true, pattern: printableKey },
  onMismatch: 'reject',
  replay: 'stored',
  process: () => Promise.reject(new Error('as always')),
});

/** Those who read a page and type what it says. Each page has one of its own, so that no page disturbs another. */
export class DocReaders {
  readonly #service: TestService;
  readonly #folder: string;

  constructor(service: TestService, folder: string) {
    this.#service = service;
    this.#folder = folder;
  }

  async keyOf(page: string): Promise<string> {
    const key = `key-of-the-reader-of-${page}`;
    await ensureApiKey(this.#service.db, key, { client: page.replaceAll('/', '.'), scopes: ['operate', 'admin'] });
    return key;
  }

  async openShell(page: string): Promise<DocShell> {
    const apiKey = await this.keyOf(page);
    const { DATABASE_URL = '', SEMEL_DATA_DIR = '' } = this.#service.environment;
    await mkdir(SEMEL_DATA_DIR, { recursive: true });
    // What `npm start` leaves there, so that other commands find the service.
    await writeFile(join(SEMEL_DATA_DIR, 'running.json'), JSON.stringify({ url: this.#service.api.url }));
    return await DocShell.open({
      folder: join(this.#folder, randomUUID()),
      dataDir: SEMEL_DATA_DIR,
      environment: { SEMEL_API_KEY: apiKey, SEMEL_DATA_DIR, DATABASE_URL },
      placeholders: this.#placeholders(apiKey),
      settle: () => this.#settle(),
    });
  }

  #placeholders(apiKey: string): Placeholders {
    return [
      [/(http:\/\/)?(127\.0\.0\.1|localhost):3000/g, this.#service.api.url],
      // A name of the reader's own network; here it must resolve without one.
      ['https://hooks.example/', 'http://127.0.0.1:9/'],
      ['/records/$ID', async () => `/records/${await this.#failOnce()}`],
      ['--record $ID', async () => `--record ${await this.#failOnce()}`],
      ['/dead-letters/$ID', async () => `/dead-letters/${await this.#findDeadLetter()}`],
      ['/api-keys/$ID', async () => `/api-keys/${await this.#makeApiKey()}`],
      ['/faults/$ID', async () => `/faults/${await this.#makeFault()}`],
      ['/mailings/$ID', async () => `/mailings/${await this.#uploadList(apiKey)}`],
      // The two accounts of docs/bulk.md.
      ['01a1edc8-3a52-7f0e-b1c4-6d2e9f8a7b35', () => this.#openAccount(apiKey)],
      ['01a1edc8-3f10-7c41-8e52-0b5f2d6a9c17', () => this.#openAccount(apiKey)],
    ];
  }

  async #settle(): Promise<void> {
    await eventually(async () => {
      const { rows } = await sql<{ busy: boolean }>`
        select exists (select from records where settled_at is null)
          or exists (select from mailings where status in ('QUEUED', 'INGESTING', 'SENDING')) as busy`.execute(
        this.#service.db,
      );
      expect(rows).toEqual([{ busy: false }]);
    });
  }

  /** Of somebody else, so that it is still there when a page has retried everything of client default. */
  async #failOnce(): Promise<string> {
    const options = { key: randomUUID(), apiKey: await this.keyOf('nobody') };
    const answer = await this.#service.api.post('/v1/operations/docs.failing', {}, options);
    return String(answer.headers['operation-id']);
  }

  async #findDeadLetter(): Promise<string> {
    await this.#failOnce();
    return (await this.#service.api.get('/v1/admin/dead-letters?client=nobody&limit=1')).body.items[0].id;
  }

  async #makeApiKey(): Promise<string> {
    return (await this.#service.api.post('/v1/admin/api-keys', { client: 'docs', scopes: ['operate'] })).body.id;
  }

  async #makeFault(): Promise<string> {
    const { rows } = await sql<{ id: string }>`
      insert into invariant_faults (invariant, subject, detail) values ('entries_sent_twice', ${randomUUID()}, '{}')
      returning id`.execute(this.#service.db);
    return String(rows[0]?.id);
  }

  async #uploadList(apiKey: string): Promise<string> {
    const options = { apiKey, headers: { 'content-type': 'text/csv' } };
    const path = `/v1/mailings?filename=${randomUUID()}.csv`;
    return (await this.#service.api.send('POST', path, 'email\nada@example.com\n', options)).body.mailingId;
  }

  async #openAccount(apiKey: string): Promise<string> {
    const account = { owner: 'Ada', currency: 'EUR', openingBalance: 1_000_000 };
    return (await this.#service.api.post('/v1/accounts', account, { apiKey, key: randomUUID() })).body.id;
  }
}
