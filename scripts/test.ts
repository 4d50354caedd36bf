import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findOrInstallBrowser } from './embedded/find-browser.ts';
import { findOrInstallFaketime } from './embedded/find-faketime.ts';
import { findOrInstallPromtool } from './embedded/find-promtool.ts';
import { findOrInstallRedis } from './embedded/redis-server.ts';
import { buildIfNeeded } from './start/build-service.ts';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const isCi = Boolean(process.env.CI);

const steps: readonly { readonly title: string; readonly run: () => Promise<number> }[] = [
  { title: 'Redis', run: async () => succeedWith(() => console.log(findOrInstallRedis(console.log))) },
  { title: 'Browser', run: async () => succeedWith(() => console.log(findOrInstallBrowser(console.log))) },
  { title: 'Faketime', run: async () => succeedWith(() => console.log(findOrInstallFaketime(console.log))) },
  { title: 'Promtool', run: async () => succeedWith(() => console.log(findOrInstallPromtool(console.log))) },
  { title: 'Format and lint', run: () => runTool('biome', [isCi ? 'ci' : 'check', '.']) },
  { title: 'Types', run: () => runTool('tsc', []) },
  { title: 'Build', run: async () => succeedWith(() => buildIfNeeded(root, console.log)) },
  { title: 'Tests', run: () => runTool('vitest', ['run', ...process.argv.slice(2)]) },
];

for (const { title, run } of steps) {
  console.log(`\n== ${title}`);
  const code = await run();
  if (code !== 0) {
    console.error(`\n"${title}" failed.`);
    process.exit(code);
  }
}

function succeedWith(work: () => void): number {
  try {
    work();
    return 0;
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    return 1;
  }
}

function runTool(name: string, args: readonly string[]): Promise<number> {
  return new Promise((resolve) => {
    const tool = spawn(join(root, 'node_modules', '.bin', name), args, {
      cwd: root,
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    const forward = (signal: NodeJS.Signals): void => void tool.kill(signal);
    const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
    for (const signal of signals) process.on(signal, forward);
    tool.once('error', (error) => {
      console.error(error.message);
      resolve(1);
    });
    tool.once('exit', (code, signal) => {
      for (const each of signals) process.off(each, forward);
      resolve(code ?? 128 + (signal ? constants.signals[signal] : 0));
    });
  });
}
