import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { adviseInstallation, installPackage } from './install-package.ts';

/** The path of libfaketime, which gives a process under test a clock of its own: the one at hand, else installed now. */
export function findOrInstallFaketime(onProgress: (line: string) => void = () => {}): string {
  const found = findFaketime();
  if (found !== undefined) return found;
  onProgress('Installing libfaketime (this needs the network once) …');
  const problem = installPackage('libfaketime');
  const installed = findFaketime();
  if (installed !== undefined) return installed;
  const advice = adviseInstallation({ debian: 'libfaketime', homebrew: 'libfaketime' });
  throw new Error(`libfaketime is needed for the tests and ${problem}. ${advice}.`);
}

/** What a process needs in its environment so that its clock is off, and its timers are not. */
export function fakeClock(offsetSeconds: number): Record<string, string> {
  const preload = process.platform === 'darwin' ? 'DYLD_INSERT_LIBRARIES' : 'LD_PRELOAD';
  const offset = `${offsetSeconds < 0 ? '' : '+'}${offsetSeconds}s`;
  return { [preload]: findOrInstallFaketime(), FAKETIME: offset, FAKETIME_DONT_FAKE_MONOTONIC: '1' };
}

/** Debian keeps it in a folder for each kind of machine, such as x86_64-linux-gnu. */
function findFaketime(): string | undefined {
  const folders = ['/usr/lib', '/usr/local/lib', '/opt/homebrew/lib'].filter((folder) => existsSync(folder));
  const nested = folders.flatMap((folder) => readdirSync(folder).map((name) => join(folder, name)));
  return [...folders, ...nested]
    .flatMap((folder) => ['libfaketime.so.1', 'libfaketime.1.dylib'].map((name) => join(folder, 'faketime', name)))
    .find((path) => existsSync(path));
}
