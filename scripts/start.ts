import { chmodSync, existsSync, mkdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { renderBanner } from './start/banner.ts';
import { buildIfNeeded } from './start/build-service.ts';
import { type Address, chooseAddress } from './start/choose-address.ts';
import { readOrMakeCredentials } from './start/credentials.ts';
import { type Stores, startStores } from './start/embedded-stores.ts';
import { acquireRunningLock, type RunningLock } from './start/running-lock.ts';
import { migrate, startService, waitUntilReady } from './start/service.ts';
import { StartError, StoppedEarly } from './start/start-error.ts';
import { listenForStop, type StopRequest, whenAborted } from './start/stop-request.ts';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const say = (line: string): void => console.log(line);

// Beyond the service's own limit for finishing its work, so that it is never cut short by us.
const stopMarginMs = 10_000;
const defaultShutdownTimeoutMs = 25_000;

async function start(stop: StopRequest): Promise<void> {
  const envFile = join(root, '.env');
  if (existsSync(envFile)) process.loadEnvFile(envFile);
  const dataDir = openDataDir();
  const lock = await acquireRunningLock(dataDir);
  try {
    // First, since it is what a person most often has to put right.
    const address = await chooseAddress(process.env, say);
    buildIfNeeded(root, say);
    // From here on, what is written holds other people's data or passwords.
    process.umask(0o077);
    throwIfStopped(stop);
    const stores = await startStores(dataDir, process.env, say);
    try {
      await runService({ dataDir, lock, address, stores, stop });
    } finally {
      await stores.stop();
    }
  } finally {
    lock.release();
  }
}

interface Run {
  readonly dataDir: string;
  readonly lock: RunningLock;
  readonly address: Address;
  readonly stores: Stores;
  readonly stop: StopRequest;
}

async function runService({ dataDir, lock, address, stores, stop }: Run): Promise<void> {
  const credentials = readOrMakeCredentials(dataDir, process.env);
  const environment: NodeJS.ProcessEnv = {
    ...process.env,
    ...stores.environment,
    SEMEL_API_KEY: credentials.apiKey,
    SEMEL_ADMIN_PASSWORD: credentials.adminPassword,
    SEMEL_DATA_DIR: dataDir,
    HOST: address.host,
    PORT: String(address.port),
  };
  throwIfStopped(stop);
  await migrate(root, environment);
  throwIfStopped(stop);
  const service = startService(root, environment);
  lock.note({ url: address.url, servicePid: service.pid });

  const waiting = new AbortController();
  const end = Promise.race([
    whenAborted(stop.asked).then(() => ({ timeoutMs: shutdownTimeoutMs() + stopMarginMs, problem: undefined })),
    service.exited.then((how) => ({ timeoutMs: 0, problem: `The service ended unexpectedly (${how}).` })),
    // Without its stores it has nothing to finish; ten seconds let it close in order.
    stores.failed.then((reason) => ({ timeoutMs: 10_000, problem: reason })),
  ]).finally(() => waiting.abort());
  waitUntilReady(address.url, waiting.signal).then(
    () => say(renderBanner(address, dataDir, credentials)),
    // It only fails by being told to wait no longer; why, `end` says.
    () => {},
  );
  const { timeoutMs, problem } = await end;
  if (problem === undefined) say('Stopping: finishing what is in hand … (Ctrl-C again to stop at once)');
  await service.stop(timeoutMs, stop.insisted);
  if (problem !== undefined) throw new StartError(problem);
}

function openDataDir(): string {
  const dataDir = resolve(root, process.env.SEMEL_DATA_DIR || '.semel');
  const isNew = mkdirSync(dataDir, { recursive: true, mode: 0o700 }) !== undefined;
  // Root's Postgres runs as another user, who must get through to its own folder; listing stays forbidden.
  if (isNew && process.getuid?.() === 0) chmodSync(dataDir, 0o711);
  return dataDir;
}

function shutdownTimeoutMs(): number {
  const given = Number(process.env.SHUTDOWN_TIMEOUT_MS || defaultShutdownTimeoutMs);
  return Number.isFinite(given) ? given : defaultShutdownTimeoutMs;
}

function throwIfStopped(stop: StopRequest): void {
  if (stop.asked.aborted) throw new StoppedEarly();
}

try {
  await start(listenForStop());
  say('Stopped.');
} catch (error) {
  if (!(error instanceof StoppedEarly)) {
    console.error(error instanceof StartError ? error.message : error);
    process.exitCode = 1;
  }
}
process.exit();
