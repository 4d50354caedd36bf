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
service=$1
shift
apt-get update
apt-get install -y --no-install-recommends "$@"
if [ -n "$service" ] && [ -d /run/systemd/system ]; then systemctl disable --now "$service"; fi
`;

export interface PackageExtras {
  /** Packages that the program needs to be of use, though it does not depend on them. */
  readonly alongside?: readonly string[];
  /** The service that the package brings. It is not to run, now or after a restart. */
  readonly service?: string;
}

/** Installs a package of Debian's. Returns why its program is still missing, should that be so afterwards. */
export function installPackage(name: string, { alongside = [], service = '' }: PackageExtras = {}): string {
  if (!hasApt()) return 'was not found';
  const isRoot = process.getuid?.() === 0;
  if (!isRoot && !canSudo()) return 'was not found, and only root can install it';
  const [command, ...prefix] = isRoot ? ['sh'] : ['sudo', '-n', 'sh'];
  const args = [...prefix, '-c', aptScript, 'install-package', service, name, ...alongside];
  const { status } = spawnSync(command ?? 'sh', args, { stdio: ['ignore', 'inherit', 'inherit'] });
  return status === 0 ? 'was not found after its installation' : 'could not be installed by apt-get';
}

/** The first of the programs that can be run, looked for by name on the PATH and in the usual folders. */
export function findProgram(names: readonly string[]): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(delimiter), ...usualFolders].filter((folder) => folder !== '');
  return names.flatMap((name) => folders.map((folder) => join(folder, name))).find(isExecutable);
}

/** What a person can do where the installation cannot be done for them. */
export function adviseInstallation(packages: { readonly debian: string; readonly homebrew: string }): string {
  if (process.platform === 'darwin') return `Run: brew install ${packages.homebrew}`;
  if (hasApt()) return `Run: sudo apt-get install ${packages.debian}`;
  return `Install ${packages.debian} with your package manager`;
}

export function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

export function hasApt(): boolean {
  return ['/usr/bin/apt-get', '/bin/apt-get'].some(isExecutable);
}

function canSudo(): boolean {
  try {
    execFileSync('sudo', ['-n', 'true'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
