import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ConfigError, environmentVariables, readConfig } from '../src/config.ts';
import { readText } from './support/sources.ts';

const stores = { DATABASE_URL: 'postgres://localhost/semel', REDIS_URL: 'redis://localhost:6379' };

/** What a start with this environment says on its way out. */
function complaintAbout(environment: Record<string, string>): string {
  try {
    readConfig(environment);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  throw new Error('the environment was accepted');
}

describe('defaults', () => {
  it('are those that the README promises', () => {
    const { WORKER_CONCURRENCY, ...config } = readConfig(stores);
    expect(config).toEqual({
      ...stores,
      PORT: 3000,
      HOST: '127.0.0.1',
      REDIS_PREFIX: 'semel',
      SEMEL_DATA_DIR: resolve('.semel'),
      MAIL_FROM: 'Semel <no-reply@localhost>',
      MAIL_POLICY: 'at-most-once',
      MAIL_CONNECTIONS: 10,
      MAIL_TIMEOUT_MS: 20_000,
      UPLOAD_MAX_BYTES: 268_435_456,
      MX_CHECK: 'off',
      RETRY_DELAYS_MS: [10_000, 30_000],
      LOCK_DURATION_MS: 8_000,
      RESULT_CACHE_TTL_SECONDS: 900,
      RECORD_TTL_SECONDS: 86_400,
      AUDIT_RETENTION_DAYS: 365,
      WAIT_SECONDS: 10,
      WEBHOOK_ALLOW_PRIVATE: false,
      WEBHOOK_RETRY_DELAYS_MS: [5_000, 30_000, 300_000, 1_800_000, 7_200_000, 18_000_000, 28_800_000],
      WEBHOOK_TIMEOUT_MS: 10_000,
      RATE_LIMIT_PER_MINUTE: 60_000,
      SHUTDOWN_TIMEOUT_MS: 25_000,
      DATABASE_POOL_SIZE: 10,
      LOG_LEVEL: 'info',
    });
    expect(WORKER_CONCURRENCY).toBeGreaterThanOrEqual(50);
    expect(WORKER_CONCURRENCY).toBeLessThanOrEqual(200);
  });

  it('are what .env.example shows, and what has none is shown with a value that is accepted', () => {
    const shown = Object.fromEntries(
      [...readText('.env.example').matchAll(/^#([A-Z0-9_]+)=(.*)$/gm)].map(([, name = '', value = '']) => [
        name,
        value,
      ]),
    );
    const asShown = readConfig(shown);
    const defaults: Record<string, unknown> = readConfig(stores);
    // Required, or dependent on the machine.
    const withoutDefault = ['DATABASE_URL', 'REDIS_URL', 'WORKER_CONCURRENCY'];
    for (const [name, value] of Object.entries(asShown)) {
      if (name in defaults && !withoutDefault.includes(name)) expect(value, name).toEqual(defaults[name]);
    }
    expect(Object.keys(asShown).sort()).toEqual([...environmentVariables].sort());
  });

  it('stand for a variable that is empty', () => {
    const empty = Object.fromEntries(environmentVariables.map((name) => [name, '']));
    expect(readConfig({ ...empty, ...stores })).toEqual(readConfig(stores));
  });

  it('a variable that nobody knows is left alone', () => {
    expect(readConfig({ ...stores, SOMETHING_ELSE: 'x' })).toEqual(readConfig(stores));
  });
});

describe('a malformed variable', () => {
  const malformed: [name: string, value: string][] = [
    ['PORT', 'http'],
    ['PORT', '65536'],
    ['PORT', '-1'],
    ['PORT', '3000.5'],
    ['PORT', ' 3000'],
    ['DATABASE_URL', 'mysql://localhost/semel'],
    ['DATABASE_URL', 'localhost:5432'],
    ['REDIS_URL', 'http://localhost:6379'],
    ['REDIS_URL', 'localhost:6379'],
    ['REDIS_CLUSTER', 'localhost'],
    ['REDIS_CLUSTER', 'localhost:7000,'],
    ['REDIS_SENTINELS', 'localhost:port'],
    ['REDIS_PREFIX', 'a{b}'],
    ['REDIS_PREFIX', 'x'.repeat(65)],
    ['SEMEL_API_KEY', 'short'],
    ['SEMEL_API_KEY', 'long enough, but with spaces'],
    ['SEMEL_API_KEY', 'x'.repeat(257)],
    ['SEMEL_SECRET_KEY', 'thirty-one-characters-and-short'],
    ['SEMEL_ADMIN_PASSWORD', 'short'],
    ['MAIL_URL', 'http://localhost:25'],
    ['MAIL_URL', 'localhost:25'],
    ['MAIL_FROM', 'nobody'],
    ['MAIL_FROM', 'Semel <a@example.com>\r\nBcc: b@example.com'],
    ['MAIL_FROM', 'Semel\r\nBcc: b@example.com\r\n <a@example.com>'],
    ['MAIL_FROM', 'Semel <a@example.com>, b@example.com'],
    ['MAIL_FROM', 'a@example.com, b@example.com'],
    ['MAIL_FROM', `Semel <${'x'.repeat(250)}@example.com>`],
    ['MAIL_FROM', `${'x'.repeat(1_000_000)} <a@example.com>`],
    ['MAIL_POLICY', 'exactly-once'],
    ['MAIL_CONNECTIONS', '0'],
    ['MAIL_CONNECTIONS', '201'],
    ['MAIL_TIMEOUT_MS', '99'],
    ['PUBLIC_URL', 'semel.example'],
    ['PUBLIC_URL', 'ftp://semel.example'],
    ['PUBLIC_URL', 'https://semel.example/?a=b'],
    ['PUBLIC_URL', 'https://semel.example/#top'],
    ['STORAGE_URL', '/some/folder'],
    ['STORAGE_URL', 'https://semel.example/bucket'],
    ['S3_ENDPOINT', 'localhost:9000'],
    ['UPLOAD_MAX_BYTES', '0'],
    ['UPLOAD_MAX_BYTES', '256M'],
    ['MX_CHECK', 'on'],
    ['MX_DNS_SERVERS', '127.0.0.1,'],
    ['ALERT_MAIL_TO', 'nobody'],
    ['ALERT_MAIL_TO', 'ops@example.com\r\nBcc: b@example.com'],
    ['ALERT_MAIL_TO', 'ops@example.com\n'],
    ['ALERT_MAIL_TO', 'a@example.com,b@example.com'],
    ['ALERT_MAIL_TO', `${'x'.repeat(250)}@example.com`],
    ['RETRY_DELAYS_MS', 'soon'],
    ['RETRY_DELAYS_MS', '1000,,2000'],
    ['RETRY_DELAYS_MS', '1000,-5'],
    ['LOCK_DURATION_MS', '499'],
    ['RESULT_CACHE_TTL_SECONDS', '0'],
    ['RECORD_TTL_SECONDS', '0'],
    ['AUDIT_RETENTION_DAYS', '0'],
    ['WAIT_SECONDS', '61'],
    ['WEBHOOK_ALLOW_PRIVATE', 'yes'],
    ['WEBHOOK_RETRY_DELAYS_MS', '1000;2000'],
    ['WEBHOOK_TIMEOUT_MS', '99'],
    ['WORKER_CONCURRENCY', '0'],
    ['RATE_LIMIT_PER_MINUTE', 'none'],
    ['SHUTDOWN_TIMEOUT_MS', '1e3'],
    ['DATABASE_POOL_SIZE', '1'],
    ['LOG_LEVEL', 'loud'],
    ['LOG_LEVEL', 'INFO'],
  ];

  it.each(malformed)('%s=%s is named in one line', (name, value) => {
    const complaint = complaintAbout({ ...stores, REDIS_SENTINEL_MASTER: 'master', [name]: value });
    expect(complaint.split('\n')).toHaveLength(1);
    expect(complaint).toMatch(new RegExp(`^${name} `));
  });

  it('does not hide another one: each has its line', () => {
    const complaint = complaintAbout({ ...stores, PORT: 'http', WAIT_SECONDS: 'long', LOG_LEVEL: 'loud' });
    expect(complaint.split('\n').map((line) => line.split(' ')[0])).toEqual(['PORT', 'WAIT_SECONDS', 'LOG_LEVEL']);
  });

  it.each(malformed.filter(([name]) => /URL|KEY|PASSWORD/.test(name)))(
    '%s=%s is not repeated, because it may hold a secret',
    (name, value) => {
      expect(complaintAbout({ ...stores, [name]: value })).not.toContain(value);
    },
  );
});

describe('the stores', () => {
  it('without DATABASE_URL nothing starts', () => {
    expect(complaintAbout({ REDIS_URL: stores.REDIS_URL })).toBe('DATABASE_URL is missing');
    expect(complaintAbout({ ...stores, DATABASE_URL: '' })).toBe('DATABASE_URL is missing');
  });

  it('without any Redis nothing starts, and the line names all three ways', () => {
    const complaint = complaintAbout({ DATABASE_URL: stores.DATABASE_URL });
    expect(complaint.split('\n')).toHaveLength(1);
    for (const name of ['REDIS_URL', 'REDIS_CLUSTER', 'REDIS_SENTINELS']) expect(complaint).toContain(name);
  });

  it('a cluster is a list of nodes and needs no REDIS_URL', () => {
    const { REDIS_CLUSTER, REDIS_URL } = readConfig({
      DATABASE_URL: stores.DATABASE_URL,
      REDIS_CLUSTER: 'one:7000, two.example:7001',
    });
    expect(REDIS_URL).toBeUndefined();
    expect(REDIS_CLUSTER).toEqual([
      { host: 'one', port: 7000 },
      { host: 'two.example', port: 7001 },
    ]);
  });

  it('sentinels need the name of the master', () => {
    const sentinels = { DATABASE_URL: stores.DATABASE_URL, REDIS_SENTINELS: 'one:26379,two:26379' };
    expect(complaintAbout(sentinels)).toMatch(/^REDIS_SENTINEL_MASTER is missing/);
    expect(readConfig({ ...sentinels, REDIS_SENTINEL_MASTER: 'main' })).toMatchObject({
      REDIS_SENTINELS: [
        { host: 'one', port: 26379 },
        { host: 'two', port: 26379 },
      ],
      REDIS_SENTINEL_MASTER: 'main',
    });
  });

  it('TLS and both spellings of Postgres are accepted', () => {
    const config = {
      DATABASE_URL: 'postgresql://user:pass@db.example/semel',
      REDIS_URL: 'rediss://:pass@cache.example',
    };
    expect(readConfig(config)).toMatchObject(config);
  });
});

describe('mail and files', () => {
  it.each(['ops@example.com', 'Semel <ops@example.com>', 'Zoë of Semel <a.b+c@mail.example.com>', 'a@localhost'])(
    '%s may send',
    (from) => {
      expect(readConfig({ ...stores, MAIL_FROM: from }).MAIL_FROM).toBe(from);
    },
  );

  it.each(['smtp://localhost', 'smtps://user:secret@mail.example:465'])('%s is a mail server', (url) => {
    expect(readConfig({ ...stores, MAIL_URL: url }).MAIL_URL).toBe(url);
  });

  it.each(['https://semel.example', 'https://semel.example/', 'https://semel.example//'])(
    'links that begin with %s have one slash where the path begins',
    (url) => {
      expect(readConfig({ ...stores, PUBLIC_URL: url }).PUBLIC_URL).toBe('https://semel.example');
    },
  );

  it('a folder in the public URL is kept', () => {
    const { PUBLIC_URL } = readConfig({ ...stores, PUBLIC_URL: 'http://localhost:8080/mail/' });
    expect(PUBLIC_URL).toBe('http://localhost:8080/mail');
  });

  it.each(['file:', 'file:/some/folder', 'file:///some/folder', 's3://bucket', 's3://bucket/some/prefix'])(
    'files may be kept at %s',
    (url) => {
      expect(readConfig({ ...stores, STORAGE_URL: url }).STORAGE_URL).toBe(url);
    },
  );

  it('name servers are a list', () => {
    const { MX_DNS_SERVERS } = readConfig({ ...stores, MX_DNS_SERVERS: '127.0.0.1, 127.0.0.1:5353' });
    expect(MX_DNS_SERVERS).toEqual(['127.0.0.1', '127.0.0.1:5353']);
  });
});
