import { execFileSync, spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

// Servers are often installed where an ordinary user's PATH does not look.
const usualFolders = ['/usr/bin', '/usr/sbin', '/usr/local/bin', '/opt/homebrew/bin'];

// A package that brings a service starts it at once, and it would take the standard port. The policy file forbids
// that for as long as the installation runs; one that the administrator has put there stays as it is.
const aptScript = `
set -e
export DEBIAN_FRONTEND=noninteractive
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  trap 'rm -f "$policy"' EXIT INT TERM
  printf '#!/bin/sh\\nexit 101\\n' > "$policy"
  chmod 755 "$policy"
fi
apt-get update
apt-get install -y --no-install-recommends redis-server
if [ -d /run/systemd/system ]; then systemctl disable --now redis-server; fi
`;

/** The path of a Redis or Valkey server: the one at hand, else one that is installed now. */
export function findOrInstallRedis(onProgress: (line: string) => void = () => {}): string {
  const found = findRedis();
  if (found !== undefined) return found;
  onProgress('Installing Redis (this needs the network once) …');
  const problem = installRedis();
  const installed = findRedis();
  if (installed !== undefined) return installed;
  throw new Error(`Redis is needed and ${problem}. ${advice()}, or set REDIS_URL to a Redis that is running.`);
}

function findRedis(): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(delimiter), ...usualFolders];
  for (const name of ['redis-server', 'valkey-server']) {
    for (const folder of folders) {
      const file = join(folder, name);
      if (folder !== '' && isExecutable(file)) return file;
    }
  }
  return undefined;
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Returns why there is still no Redis, should that be so afterwards. */
function installRedis(): string {
  if (!['/usr/bin/apt-get', '/bin/apt-get'].some(isExecutable)) return 'was not found';
  const isRoot = process.getuid?.() === 0;
  if (!isRoot && !canSudo()) return 'was not found, and only root can install it';
  const [command, ...prefix] = isRoot ? ['sh'] : ['sudo', '-n', 'sh'];
  const { status } = spawnSync(command ?? 'sh', [...prefix, '-c', aptScript], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  return status === 0 ? 'was not found after its installation' : 'could not be installed by apt-get';
}

function canSudo(): boolean {
  try {
    execFileSync('sudo', ['-n', 'true'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

function advice(): string {
  if (process.platform === 'darwin') return 'Run: brew install redis';
  if (['/usr/bin/apt-get', '/bin/apt-get'].some(isExecutable)) return 'Run: sudo apt-get install redis-server';
  return 'Install redis-server with your package manager';
}
