import { chmod, mkdir, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findOrInstallRedis } from '../embedded/redis-server.ts';
import { type Guardian, startGuardian } from '../embedded/start-guardian.ts';
import { buildIfNeeded } from '../start/build-service.ts';
import { StartError } from '../start/start-error.ts';
import { listenForStop, whenAborted } from '../start/stop-request.ts';
import { runBulk } from './bulk/run-bulk.ts';
import { runCleanup } from './cleanup.ts';
import { runIngest } from './mailings/run-ingest.ts';
import { runSending } from './mailings/run-sending.ts';
import { readMailUrl } from './mailings/sink-count.ts';
import { type BenchOptions, readOptions } from './options.ts';
import { Processes } from './processes.ts';
import {
  renderBulk,
  renderCleanup,
  renderEnqueue,
  renderIngest,
  renderMachine,
  renderRounds,
  renderSending,
} from './report.ts';
import { type BenchSystems, runEnqueueOnly, runNewTransfers, runReplays } from './scenarios.ts';
import { startEcho, startNaive, startSemel } from './systems.ts';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const say = (line: string): void => console.log(line);

/** The stores end, and the folder goes, with the guardian: also when this process is killed. */
async function bench(options: BenchOptions): Promise<void> {
  findOrInstallRedis(say);
  buildIfNeeded(root, say);
  const runDir = await mkdtemp(join(tmpdir(), 'semel-bench-'));
  // As root, Postgres runs as another user, who has to pass through here.
  await chmod(runDir, 0o711);
  const stores = await startGuardian({
    dir: runDir,
    ephemeral: true,
    postgres: { fsync: true },
    redis: { persistent: true },
  });
  const processes = new Processes(runDir);
  try {
    const storesFailed = stores.exited.then((reason) => Promise.reject(new Error(reason)));
    const work = startSystems(processes, stores, runDir, options).then((systems) =>
      runScenarios(systems, options, runDir),
    );
    await Promise.race([work, processes.failed, storesFailed, whenAborted(stop.asked)]);
  } finally {
    await processes.stop();
    await stores.stop();
  }
}

async function startSystems(
  processes: Processes,
  stores: Guardian,
  runDir: string,
  options: BenchOptions,
): Promise<BenchSystems> {
  const { databaseUrl, redisUrl, pids } = stores;
  const [postgresPid, redisPid] = pids;
  if (!databaseUrl || !redisUrl || !postgresPid || !redisPid) throw new Error('The guardian started no servers.');
  const urls = { databaseUrl, redisUrl };
  const dataDir = join(runDir, 'semel');
  await mkdir(dataDir);
  const profileDir = options.profileDir && resolve(options.profileDir);
  const sink = await processes.startScript('sink', 'mailings/mail-sink.ts');
  const mailUrl = await readMailUrl(sink);
  return {
    processes,
    sink,
    generator: await processes.startScript('generator', 'load/generator.ts'),
    echo: await startEcho(processes),
    naive: await startNaive(processes, urls),
    semel: await startSemel(processes, urls, { root, dataDir, profileDir, mailUrl }),
    databaseUrl,
    redisUrl,
    postgresPid,
    redisPid,
  };
}

async function runScenarios(systems: BenchSystems, options: BenchOptions, runDir: string): Promise<void> {
  say(`\n${renderMachine()}`);
  say(
    `${options.rounds} rounds of ${options.seconds} s each, baseline and Semel in turn; Postgres with fsync, Redis with AOF everysec`,
  );
  const titles = { 64: 'new transfers, 64 connections', 256: 'new transfers, 256 connections' };
  for (const name of options.scenarios) {
    if (name === 'new-64') say(renderRounds(titles[64], await runNewTransfers(systems, options, 64), 1));
    if (name === 'new-256') say(renderRounds(titles[256], await runNewTransfers(systems, options, 256), 1));
    if (name === 'replays') say(renderRounds('replays, 64 connections', await runReplays(systems, options), 0.5));
    if (name === 'ingest') say(renderIngest(await runIngest(systems, options)));
    if (name === 'sending') say(renderSending(await runSending(systems, options)));
    if (name === 'cleanup') say(renderCleanup(await runCleanup(systems, options)));
    if (name === 'enqueue') say(renderEnqueue(await runEnqueueOnly(systems, options)));
    if (name === 'bulk') say(renderBulk(await runBulk(systems, options, runDir)));
  }
  say(
    '\nEvery answer of Semel was checked against its ledger, every entry against its file, and every mail came once.',
  );
}

const stop = listenForStop();
try {
  await bench(readOptions(process.argv.slice(2)));
  // What a shell expects of something that Ctrl-C ended: half a benchmark is no success.
  if (stop.asked.aborted) process.exitCode = 130;
} catch (error) {
  console.error(error instanceof StartError ? error.message : error);
  process.exitCode = 1;
}
process.exit();
