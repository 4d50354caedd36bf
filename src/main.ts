import { pino } from 'pino';
import { ConfigError, type Role, readConfig, roles } from './config.ts';
import { createLog, describeError } from './log.ts';
import { sqlStateOf } from './store/database.ts';
import { migrateToLatest } from './store/migrate.ts';
import { StartError } from './store/start-error.ts';

async function main(): Promise<void> {
  const role = readRole(process.argv[2] ?? 'all');
  const config = readConfig(process.env, role);
  if (role === 'all' || role === 'migrate') await migrateToLatest(config.DATABASE_URL);
  if (role === 'migrate') return;

  // Written in blocks, at the latest every second: a line for each operation would otherwise cost a system call each.
  const destination = pino.destination({ sync: false, minLength: 4096, periodicFlush: 1_000 });
  const log = createLog(config.LOG_LEVEL, destination);
  // Loaded only now: a migration does without, and a signal that comes meanwhile is heard.
  const starting = import('./compose.ts').then(({ startService }) => startService({ config, role, log }));
  endOnSignal(config.SHUTDOWN_TIMEOUT_MS, async () => {
    await (await starting).close();
    log.info('stopped');
    destination.flushSync();
  });
  const service = await starting;
  log.info({ role, url: service.url, metricsUrl: service.metricsUrl }, 'started');
  destination.flush();
}

/** The first signal finishes what is in hand, the second one ends at once. */
function endOnSignal(timeoutMs: number, close: () => Promise<void>): void {
  let isEnding = false;
  const end = () => {
    if (isEnding) process.exit(1);
    isEnding = true;
    setTimeout(() => process.exit(0), timeoutMs).unref();
    close().then(
      () => process.exit(0),
      (error) => fail(error),
    );
  };
  process.on('SIGTERM', end);
  process.on('SIGINT', end);
  // Whoever started us with a channel has gone, however it happened.
  process.on('disconnect', end);
}

function readRole(text: string): Role {
  const role = roles.find((known) => known === text);
  if (!role) throw new ConfigError(`There is no role ${text}. Choose one of ${roles.join(', ')}.`);
  return role;
}

function fail(error: unknown): never {
  // A code means that the system or Postgres said it: a taken port, a wrong password. Then its message is enough.
  const isPlain = error instanceof ConfigError || error instanceof StartError || sqlStateOf(error) !== undefined;
  console.error(isPlain ? messageOf(error) : describeError(error));
  process.exit(1);
}

function messageOf(error: unknown): string {
  const [first] = error instanceof AggregateError ? error.errors : [error];
  return first instanceof Error ? first.message : String(first);
}

main().catch(fail);
