import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findOrInstallFaketime } from '../embedded/find-faketime.ts';
import { findOrInstallRedis } from '../embedded/redis-server.ts';
import { buildIfNeeded } from '../start/build-service.ts';
import { StartError } from '../start/start-error.ts';
import { listenForStop } from '../start/stop-request.ts';
import { measureRecovery, renderRecovery } from './measure-recovery.ts';
import { openLab } from './open-lab.ts';
import { readOptions, type SoakOptions } from './options.ts';
import { renderReport } from './report.ts';
import { runSoak } from './run-soak.ts';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const say = (line: string): void => console.log(line);

/** Half of the default: a machine that runs all of this is a busy one. */
const soakEnvironment = {
  LOCK_DURATION_MS: '4000',
};
const defaultTimes = { LOCK_DURATION_MS: '8000' };

async function soak({ minutes, seed }: SoakOptions): Promise<boolean> {
  say(`Seed ${seed}: npm run soak -- --minutes ${minutes} --seed ${seed}`);
  const { lab, close } = await openLab({ seed, environment: soakEnvironment });
  try {
    const report = await runSoak(lab, { minutes, say, isStopped: () => stop.asked.aborted });
    say(`\n${renderReport(report, lab, seed)}`);
    return report.violations.length === 0 && report.growth.beyond.length === 0;
  } finally {
    await close();
  }
}

async function recover(): Promise<boolean> {
  const { lab, close } = await openLab({ seed: 1, environment: defaultTimes });
  try {
    say(`\n${renderRecovery(await measureRecovery(lab, say))}`);
    return true;
  } finally {
    await close();
  }
}

const stop = listenForStop();
try {
  const options = readOptions(process.argv.slice(2));
  findOrInstallRedis(say);
  findOrInstallFaketime(say);
  buildIfNeeded(root, say);
  const isGood = options.recovery ? await recover() : await soak(options);
  process.exitCode = isGood ? 0 : 1;
} catch (error) {
  console.error(error instanceof StartError ? error.message : error);
  process.exitCode = 1;
}
process.exit();
