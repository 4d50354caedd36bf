import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { Redis } from 'ioredis';
import { sql } from 'kysely';
import { SMTPServer } from 'smtp-server';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { basicOf } from '../support/admin.ts';
import type { Answer } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { uploadCsv } from '../support/mailings.ts';
import { openTestStores, type TestStores } from '../support/service.ts';
import { leaksOf, SafeApi } from './safe-answer.ts';
import { startWatched, type WatchedProcess } from './watched-process.ts';

const newSecret = (name: string) => `${name}-${randomBytes(12).toString('hex')}`;
/** Each is found again wherever it turns up. */
const secrets = {
  apiKey: newSecret('api-key'),
  wrongKey: newSecret('wrong-key'),
  adminPassword: newSecret('admin-password'),
  wrongPassword: newSecret('wrong-password'),
  secretKey: newSecret('secret-key-of-the-installation'),
  database: newSecret('database-password'),
  redis: newSecret('redis-password'),
  smtp: newSecret('smtp-password'),
  verifyToken: newSecret('verify-token'),
};

/** As it is, and as it looks in a URL, a header or a dump of bytes. */
function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret);
  return [secret, bytes.toString('base64').replaceAll('=', ''), bytes.toString('base64url'), bytes.toString('hex')];
}

function expectSecret(text: string, more: readonly string[] = []): void {
  const all = [...Object.values(secrets), ...more];
  expect(all.flatMap(formsOf).filter((form) => text.includes(form))).toEqual([]);
}

let stores: TestStores;
let redis: Redis;
let mailServer: SMTPServer;
let environment: Record<string, string>;
const role = `r${randomBytes(6).toString('hex')}`;

beforeAll(async () => {
  stores = await openTestStores();
  await sql`create role ${sql.ref(role)} login superuser password ${sql.lit(secrets.database)}`.execute(stores.db);
  redis = new Redis(stores.environment.REDIS_URL ?? '');
  await redis.acl('SETUSER', role, 'on', `>${secrets.redis}`, '~*', '&*', '+@all');
  // It wants a password, and takes none.
  mailServer = new SMTPServer({
    authOptional: false,
    allowInsecureAuth: true,
    disabledCommands: ['STARTTLS'],
    logger: false,
    closeTimeout: 1,
    onAuth: (auth, _session, done) => done(new Error(`no ${auth.username}`)),
  });
  mailServer.on('error', () => undefined);
  await once(mailServer.listen(0, '127.0.0.1'), 'listening');
  const { port } = mailServer.server.address() as AddressInfo;
  environment = {
    ...stores.environment,
    LOG_LEVEL: 'trace',
    DATABASE_URL: withLogin(stores.environment.DATABASE_URL, secrets.database),
    REDIS_URL: withLogin(stores.environment.REDIS_URL, secrets.redis),
    MAIL_URL: `smtp://mailer:${secrets.smtp}@127.0.0.1:${port}`,
    SEMEL_API_KEY: secrets.apiKey,
    SEMEL_ADMIN_PASSWORD: secrets.adminPassword,
    SEMEL_SECRET_KEY: secrets.secretKey,
    WEBHOOK_ALLOW_PRIVATE: 'true',
    // Postgres is away at the end, and nothing is in hand that would be worth a wait.
    SHUTDOWN_TIMEOUT_MS: '500',
  };
});

afterAll(async () => {
  await redis.acl('DELUSER', role);
  redis.disconnect();
  await new Promise<void>((resolve) => mailServer.close(resolve));
  // Such as a month of the audit trail, if one began meanwhile.
  await sql`drop owned by ${sql.ref(role)}`.execute(stores.db);
  await sql`drop role ${sql.ref(role)}`.execute(stores.db);
  await stores.close();
});

function withLogin(url: string | undefined, password: string): string {
  const changed = new URL(url ?? '');
  changed.username = role;
  changed.password = password;
  return changed.href;
}

describe('a service that runs', () => {
  let watched: WatchedProcess;
  let api: SafeApi;
  const answers: Answer[] = [];
  /** What only the client may know, and was told once. */
  const told: string[] = [];

  const note = (answer: Answer): Answer => {
    answers.push(answer);
    return answer;
  };
  const options = { apiKey: secrets.apiKey };

  it('starts, and works with all its secrets', async () => {
    watched = await startWatched(environment);
    api = new SafeApi(watched.url);
    const hook = { url: 'http://127.0.0.1:9/hook', events: ['transfer.completed', 'operation.failed'] };
    const webhook = await api.post('/v1/webhooks', hook, { key: randomUUID(), ...options });
    const key = await api.post('/v1/admin/api-keys', { client: 'other', scopes: ['operate'] }, options);
    const rotated = await api.post(`/v1/webhooks/${webhook.body.id}/rotate-secret`, {}, options);
    told.push(webhook.body.secret, key.body.key, rotated.body.secret);
    expect(told.map((secret) => typeof secret === 'string' && secret.length > 20)).toEqual([true, true, true]);
    note(await api.get(`/v1/webhooks/${webhook.body.id}`, options));
    note(await api.post(`/v1/webhooks/${webhook.body.id}/test`, {}, options));
    note(await api.get('/v1/admin/api-keys', options));
  });

  it('says none of them when it refuses', async () => {
    for (const authorization of [
      `Bearer ${secrets.wrongKey}`,
      `Basic ${Buffer.from(`admin:${secrets.wrongPassword}`).toString('base64')}`,
      `Bearer ${secrets.apiKey} ${secrets.wrongKey}`,
      basicOf('admin', secrets.adminPassword),
    ]) {
      for (const path of ['/v1/operations', '/queues', '/metrics', '/v1/admin/actions', '/nothing']) {
        note(await api.get(path, { headers: { authorization, 'x-forwarded-for': '192.0.2.1' } }));
      }
    }
    note(await api.get(`/v/${secrets.verifyToken}`));
    note(await api.get(`/u/${secrets.verifyToken}`));
    note(await api.get(`/v1/operations?cursor=x`, options));
    note(await api.post('/v1/accounts', { owner: 1 }, { key: randomUUID(), ...options }));
    note(await api.send('POST', '/v1/accounts', '{', { key: randomUUID(), ...options }));
    for (const path of ['/health', '/health/ready', '/openapi.json'])
      note(await api.get(path, { headers: { authorization: '' } }));
  });

  it('says none of them when the mail server refuses its login', async () => {
    const mailing = (await uploadCsv(api, 'email\nada@example.com\n', options)).body.mailingId;
    await eventually(async () => {
      const entries = note(await api.get(`/v1/mailings/${mailing}/entries`, options));
      const seen = entries.text + watched.output();
      expect(seen).toMatch(/\b535\b|auth|login/i);
    });
    note(await api.get(`/v1/mailings/${mailing}`, options));
  });

  it('says none of them when Redis and Postgres do not take its login any more', async () => {
    await redis.acl('SETUSER', role, 'resetpass', '>another');
    await redis.client('KILL', 'USER', role);
    await eventually(() => expect(watched.output()).toMatch(/WRONGPASS/));
    note(
      await api.post(
        '/v1/accounts',
        { owner: 'Ada', currency: 'EUR' },
        { key: randomUUID(), headers: { prefer: 'respond-async' }, ...options },
      ),
    );
    await sql`alter role ${sql.ref(role)} password 'another'`.execute(stores.db);
    await sql`alter role ${sql.ref(role)} nologin`.execute(stores.db);
    await sql`select pg_terminate_backend(pid) from pg_stat_activity where usename = ${role}`.execute(stores.db);
    const away = await eventually(async () => {
      const response = await fetch(`${watched.url}/v1/operations`, {
        headers: { authorization: `Bearer ${secrets.apiKey}` },
      });
      const text = await response.text();
      expect(response.status).toBeGreaterThanOrEqual(500);
      return { status: response.status, text };
    });
    expect(away.status, away.text).toBe(503);
    expect(leaksOf(away.text.replaceAll(/database/gi, ''))).toEqual([]);
    const health = await fetch(`${watched.url}/health`);
    const healthText = await health.text();
    expectSecret(away.text + healthText, told);
  });

  it('has said none of them, in no answer and in no line of its log', async () => {
    await api.close();
    await watched.stop();
    const log = watched.output();
    expect(log.length).toBeGreaterThan(1_000);
    for (const line of log.trim().split('\n')) expect(() => JSON.parse(line), line).not.toThrow();
    expectSecret(log, told);
    for (const { text, headers } of answers) expectSecret(text + JSON.stringify(headers), told);
  });
});

describe('a service that cannot start', () => {
  it.each<[string, () => Record<string, string>]>([
    [
      'whose login Postgres refuses',
      () => ({ DATABASE_URL: withLogin(stores.environment.DATABASE_URL, `${secrets.database}x`) }),
    ],
    ['whose Postgres is not there', () => ({ DATABASE_URL: `postgres://x:${secrets.database}@127.0.0.1:9/x` })],
    [
      'whose variables are malformed',
      () => ({
        DATABASE_URL: `postgres://x:${secrets.database}@[/x`,
        REDIS_URL: `http://x:${secrets.redis}@127.0.0.1`,
        MAIL_URL: `imap://x:${secrets.smtp}@127.0.0.1`,
        SEMEL_API_KEY: `${secrets.apiKey} ä`,
        SEMEL_SECRET_KEY: 'short-secret-key',
      }),
    ],
  ])('%s ends with words that name no secret', async (_name, change) => {
    const watched = await startWatched({ ...environment, ...change() });
    await watched.exited;
    expect(watched.url).toBe('');
    expect(watched.output().trim()).not.toBe('');
    expectSecret(watched.output(), ['short-secret-key']);
    expect(watched.output()).not.toMatch(/\n\s+at /);
  });
});
