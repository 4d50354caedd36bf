import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { z } from 'zod';
import { failpointsPattern } from './failpoints.ts';

export const roles = ['all', 'api', 'worker', 'migrate'] as const;
export type Role = (typeof roles)[number];

const integer = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d+$/, 'must be a whole number')
    .transform(Number)
    .refine((value) => value >= min && value <= max, `must be between ${min} and ${max}`);

const urlWith = (protocols: readonly string[]) =>
  z
    .string()
    .refine(
      (value) => protocols.includes(protocolOf(value)),
      `must be a URL that begins with ${protocols.join(' or ')}//`,
    );

const hostPort = z
  .string()
  .regex(/^[^\s:]+:\d{1,5}$/, 'must be host:port,host:port,…')
  .transform((value) => {
    const [host = '', port] = value.split(':');
    return { host, port: Number(port) };
  })
  .refine(({ port }) => port >= 1 && port <= 65_535, 'must be host:port,host:port,… with ports from 1 to 65535');

const commaSeparated = <T>(item: z.ZodType<T, string>) =>
  z
    .string()
    .transform((value) => value.split(',').map((part) => part.trim()))
    .pipe(z.array(item).min(1));

/** An address on its own. The cap comes before the pattern, and there is no room for a line break in it. */
const mailAddress = z
  .string()
  .max(254, { abort: true, error: 'must have at most 254 characters' })
  .regex(/^[^\s@<>(),:;"\\[\]\p{Cc}]+@[^\s@<>(),:;"\\[\]\p{Cc}]+$/u, 'must be an address such as ops@example.com');

/** `Name <address>` or an address on its own. Quotes and commas are out: they make other addresses of it. */
export const mailbox = z
  .string()
  .max(400, { abort: true, error: 'must have at most 400 characters' })
  .regex(/^[^<>(),:;"\\@\p{Cc}\p{Zl}\p{Zp}]* <[^<>]+>$|^[^\s<>]+$/u, 'must be an address or Name <address>')
  .refine((value) => mailAddress.safeParse(/<(.*)>$/.exec(value)?.[1] ?? value).success, {
    message: 'must be an address or Name <address>, the address with at most 254 characters',
  });

/** What the environment may hold. The names and defaults are part of the contract with whoever deploys Semel. */
const environmentSchema = z.object({
  PORT: integer(0, 65_535).default(3000),
  HOST: z.string().min(1).default('127.0.0.1'),
  /** For a worker, which listens on no port otherwise. */
  METRICS_PORT: integer(0, 65_535).optional(),
  DATABASE_URL: urlWith(['postgres:', 'postgresql:']),
  REDIS_URL: urlWith(['redis:', 'rediss:']).optional(),
  REDIS_CLUSTER: commaSeparated(hostPort).optional(),
  REDIS_SENTINELS: commaSeparated(hostPort).optional(),
  REDIS_SENTINEL_MASTER: z.string().min(1).optional(),
  /** For a cluster or Sentinel; with REDIS_URL they are part of the URL. */
  REDIS_USERNAME: z.string().min(1).optional(),
  REDIS_PASSWORD: z.string().min(1).optional(),
  /** Keeps the keys of several installations in one Redis apart. It becomes a hash tag, so braces are out. */
  REDIS_PREFIX: z
    .string()
    .regex(/^[A-Za-z0-9._-]{1,64}$/, 'must be 1 to 64 of A-Z a-z 0-9 . _ -')
    .default('semel'),
  SEMEL_DATA_DIR: z
    .string()
    .min(1)
    .default('.semel')
    .transform((value) => resolve(value)),
  SEMEL_API_KEY: z
    .string()
    .min(16, 'must have at least 16 characters')
    .max(256)
    .regex(/^[\x21-\x7e]+$/, 'must be printable ASCII without spaces')
    .optional(),
  SEMEL_SECRET_KEY: z.string().min(32, 'must have at least 32 characters').max(1_024).optional(),
  SEMEL_ADMIN_PASSWORD: z.string().min(8, 'must have at least 8 characters').optional(),
  MAIL_URL: urlWith(['smtp:', 'smtps:']).optional(),
  MAIL_FROM: mailbox.default('Semel <no-reply@localhost>'),
  MAIL_POLICY: z
    .enum(['at-most-once', 'at-least-once'], 'must be at-most-once or at-least-once')
    .default('at-most-once'),
  MAIL_CONNECTIONS: integer(1, 200).default(10),
  // For the whole conversation. By default less than a shutdown waits for what is in hand.
  MAIL_TIMEOUT_MS: integer(100, 600_000).default(20_000),
  ALERT_MAIL_TO: mailAddress.optional(),
  PUBLIC_URL: urlWith(['http:', 'https:'])
    .refine((value) => !/[?#]/.test(value), 'must have no query and no fragment')
    .transform((value) => value.replace(/\/+$/, ''))
    .optional(),
  STORAGE_URL: urlWith(['file:', 's3:']).optional(),
  S3_ENDPOINT: urlWith(['http:', 'https:']).optional(),
  UPLOAD_MAX_BYTES: integer(1, 1_099_511_627_776).default(268_435_456),
  MX_CHECK: z.enum(['off', 'warn', 'strict'], 'must be off, warn or strict').default('off'),
  MX_DNS_SERVERS: commaSeparated(z.string().min(1)).optional(),
  RETRY_DELAYS_MS: z
    .union([z.literal('none').transform((): number[] => []), commaSeparated(integer(0, 86_400_000))])
    .default([10_000, 30_000]),
  LOCK_DURATION_MS: integer(500, 600_000).default(8_000),
  RESULT_CACHE_TTL_SECONDS: integer(1, 2_592_000).default(900),
  RECORD_TTL_SECONDS: integer(1, 31_536_000).default(86_400),
  AUDIT_RETENTION_DAYS: integer(1, 36_500).default(365),
  WAIT_SECONDS: integer(0, 60).default(10),
  WEBHOOK_ALLOW_PRIVATE: z
    .enum(['true', 'false'], 'must be true or false')
    .default('false')
    .transform((value) => value === 'true'),
  WEBHOOK_RETRY_DELAYS_MS: z
    .union([z.literal('none').transform((): number[] => []), commaSeparated(integer(0, 604_800_000))])
    .default([5_000, 30_000, 300_000, 1_800_000, 7_200_000, 18_000_000, 28_800_000]),
  WEBHOOK_TIMEOUT_MS: integer(100, 60_000).default(10_000),
  WORKER_CONCURRENCY: integer(1, 1_000).default(Math.min(200, 50 * availableParallelism())),
  RATE_LIMIT_PER_MINUTE: integer(0, 1_000_000_000).default(60_000),
  SHUTDOWN_TIMEOUT_MS: integer(0, 600_000).default(25_000),
  DATABASE_POOL_SIZE: integer(2, 200).default(10),
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
  /** For fault tests only. See failpoints.ts. */
  SEMEL_FAILPOINTS: z.string().regex(failpointsPattern, 'must be name=kill|stop|fail|block:MS[@N],…').optional(),
});

export const environmentVariables: readonly string[] = Object.keys(environmentSchema.shape);

export type Config = z.infer<typeof environmentSchema>;

export class ConfigError extends Error {}

/** The only reader of the environment. Throws one line per variable that is missing or malformed. */
export function readConfig(environment: NodeJS.ProcessEnv, role: Role = 'all'): Config {
  // An empty variable is what compose files and shells produce for "not set".
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  const parsed = environmentSchema.safeParse(given);
  if (!parsed.success) {
    const lines = new Map(
      parsed.error.issues.toReversed().map((issue) => [String(issue.path[0]), describeIssue(issue)]),
    );
    throw new ConfigError([...lines.values()].toReversed().join('\n'));
  }
  const { REDIS_URL, REDIS_CLUSTER, REDIS_SENTINELS, REDIS_SENTINEL_MASTER } = parsed.data;
  // Migrations concern Postgres alone.
  if (role !== 'migrate' && !REDIS_URL && !REDIS_CLUSTER && !REDIS_SENTINELS) {
    throw new ConfigError('REDIS_URL is missing (or REDIS_CLUSTER, or REDIS_SENTINELS with REDIS_SENTINEL_MASTER)');
  }
  if (REDIS_SENTINELS && !REDIS_SENTINEL_MASTER) {
    throw new ConfigError('REDIS_SENTINEL_MASTER is missing: REDIS_SENTINELS needs the name of the master');
  }
  return parsed.data;
}

function describeIssue(issue: z.core.$ZodIssue): string {
  const name = String(issue.path[0]);
  const missing = issue.code === 'invalid_type' && issue.input === undefined;
  return missing
    ? `${name} is missing`
    : `${name} ${issue.message.startsWith('must') ? issue.message : `is not valid: ${issue.message}`}`;
}

function protocolOf(value: string): string {
  return URL.canParse(value) ? new URL(value).protocol : '';
}
