import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { operations } from '../src/processors/registry.ts';
import { Counts } from './bulk/counts.ts';
import { toNobody } from './bulk/dry-run.ts';
import { checkService, findService } from './bulk/find-service.ts';
import { openFile } from './bulk/open-file.ts';
import { type BulkOptions, help, readOptions } from './bulk/options.ts';
import { Progress } from './bulk/progress.ts';
import { RefusedFile } from './bulk/refused-file.ts';
import { type Ending, explain, sendFile, toService } from './bulk/send-file.ts';
import { summarize } from './bulk/summary.ts';
import { StartError } from './start/start-error.ts';
import { listenForStop } from './start/stop-request.ts';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** Zero only if every row of the file was taken. */
async function main(): Promise<number> {
  const options = readOptions(process.argv.slice(2), process.env);
  if (!options) {
    console.log(help);
    return 0;
  }
  const envFile = join(root, '.env');
  if (existsSync(envFile)) process.loadEnvFile(envFile);
  const operation = operations.find(({ name }) => name === options.operation);
  if (!operation) {
    const names = operations.map(({ name }) => name).join(', ');
    throw new StartError(`There is no operation ${options.operation}; there are ${names}.`);
  }
  const source = await openFile(options, operation);
  const counts = new Counts();
  const notice: { waitingFor: string | undefined; untilMs: number } = { waitingFor: undefined, untilMs: 0 };
  const send = options.isDryRun
    ? toNobody(operation, counts, (line) => console.log(line))
    : await connect(options, counts, (reason, ms) => {
        notice.waitingFor = reason;
        notice.untilMs = Date.now() + ms;
      });
  const refusedFile = new RefusedFile(options.file, source);
  const progress = new Progress(process.stderr, () => ({
    share: source.totalBytes === 0 ? 1 : source.readBytes() / source.totalBytes,
    rows: counts.answered,
    refused: counts.notTaken,
    waitingFor: Date.now() < notice.untilMs ? notice.waitingFor : undefined,
  }));
  const startedMs = performance.now();
  const { concurrency } = options;
  const parts = { source, counts, refusedFile, concurrency, stop: stop.asked, send };
  const ending = await sendFile(parts).finally(() => progress.end());
  const seconds = (performance.now() - startedMs) / 1_000;
  console.log(summarize({ counts, seconds, isDryRun: options.isDryRun, refusedPath: refusedFile.path }));
  const why = explain(ending);
  if (why !== undefined) console.error(why);
  return exitCodeOf(ending, counts);
}

async function connect(options: BulkOptions, counts: Counts, onWait: (reason: string, ms: number) => void) {
  const service = findService(root, options, process.env);
  await checkService(service);
  const { operation, patienceMs } = options;
  return toService({ service, operation, patienceMs, stop: stop.asked, onWait }, counts);
}

function exitCodeOf(ending: Ending, counts: Counts): number {
  // What a shell expects of something that Ctrl-C ended.
  if (ending === 'stopped') return 130;
  return ending === 'whole' && counts.notTaken === 0 ? 0 : 1;
}

const stop = listenForStop();
// Whoever insists does not want to wait for the counts.
stop.insisted.addEventListener('abort', () => process.exit(130));
try {
  process.exitCode = await main();
} catch (error) {
  console.error(error instanceof StartError ? error.message : error);
  process.exitCode = 1;
}
process.exit();
