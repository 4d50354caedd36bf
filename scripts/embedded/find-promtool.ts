import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { adviseInstallation, findProgram, hasApt, isExecutable } from './install-package.ts';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
/** Kept where packages are kept, so that it is fetched once and goes with them. */
const kept = join(root, 'node_modules', '.cache', 'semel', 'promtool');

/**
 * The path of promtool, which checks rules and metrics: the one at hand, else the one in Debian's package of
 * Prometheus. Only the program is taken out of it; installed, the package would bring a server, a user and a service.
 */
export function findOrInstallPromtool(onProgress: (line: string) => void = () => {}): string {
  const found = findPromtool();
  if (found !== undefined) return found;
  onProgress('Fetching promtool (this needs the network once) …');
  const problem = hasApt() ? extractPromtool() : 'was not found';
  const extracted = findPromtool();
  if (extracted !== undefined) return extracted;
  throw new Error(
    `promtool is needed and ${problem}. ${adviseInstallation({ debian: 'prometheus', homebrew: 'prometheus' })}.`,
  );
}

function findPromtool(): string | undefined {
  return findProgram(['promtool']) ?? (isExecutable(kept) ? kept : undefined);
}

/** Returns what went wrong, should it have gone wrong. */
function extractPromtool(): string {
  const folder = mkdtempSync(join(tmpdir(), 'semel-promtool-'));
  try {
    const download = () =>
      spawnSync('apt-get', ['download', 'prometheus'], { cwd: folder, stdio: 'ignore' }).status === 0;
    // On a new machine the list of packages is missing or old, and only root may fetch it.
    if (!download()) {
      spawnSync('apt-get', ['update'], { stdio: ['ignore', 'ignore', 'inherit'] });
      if (!download()) return 'could not be fetched by apt-get';
    }
    const [file = ''] = readdirSync(folder).filter((name) => name.endsWith('.deb'));
    execFileSync('dpkg-deb', ['--extract', file, 'package'], { cwd: folder });
    mkdirSync(dirname(kept), { recursive: true });
    // By way of another name, so that nobody who looks meanwhile sees half of it.
    const half = `${kept}.${process.pid}`;
    execFileSync('cp', [join(folder, 'package', 'usr', 'bin', 'promtool'), half]);
    renameSync(half, kept);
    return 'was not in its package';
  } catch (error) {
    return `could not be taken out of its package: ${error instanceof Error ? error.message : error}`;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
