import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { chmod, chown, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { makeSystemFolder, type PostgresBinaries, systemFolder } from './postgres-binaries.ts';
import { waitUntilGone, worksIn } from './process-identity.ts';
import { canEnter, type SystemUser } from './unprivileged-user.ts';

export interface ClusterOptions {
  readonly dir: string;
  readonly binaries: PostgresBinaries;
  readonly user: SystemUser | undefined;
  readonly superuser: { readonly name: string; readonly password: string };
  readonly fsync: boolean;
}

const run = promisify(execFile);
const locationFile = 'cluster-location';

/** The folder that holds the cluster of `dir`. It is made at the first call. */
export async function openCluster(options: ClusterOptions): Promise<string> {
  const home = await findHome(options.dir, options.user);
  const cluster = join(home, 'cluster');
  if (!existsSync(cluster)) await initialise(home, cluster, options);
  const version = readFileSync(join(cluster, 'PG_VERSION'), 'utf8').trim();
  const supported = '18';
  if (version !== supported) throw new Error(`${cluster} is of Postgres ${version}; this is Postgres ${supported}.`);
  return realpathSync(cluster);
}

/** The process and the port of the Postgres that works in the cluster of `dir`, if there is one. */
export function findPostmaster(dir: string): { pid: number; port: number } | undefined {
  const cluster = join(readLocation(dir) ?? dir, 'cluster');
  const pidFile = join(cluster, 'postmaster.pid');
  if (!existsSync(pidFile)) return undefined;
  // Postgres writes its process into the first line and its port into the fourth.
  const [pid, , , port] = readFileSync(pidFile, 'utf8').split('\n').map(Number);
  if (pid === undefined || port === undefined || !(pid > 1) || !(port > 0)) return undefined;
  return worksIn(pid, realpathSync(cluster)) ? { pid, port } : undefined;
}

/** Deletes what is kept outside `dir` on its behalf; `dir` itself is the caller's. */
export async function removeDistantCluster(dir: string): Promise<void> {
  const home = readLocation(dir);
  if (home !== undefined) await rm(home, { recursive: true, force: true });
}

/** A postmaster that outlived its parent is given a moment to finish, then ended: the folder is ours alone. */
export async function endPredecessor(cluster: string): Promise<void> {
  const pidFile = join(cluster, 'postmaster.pid');
  if (!existsSync(pidFile)) return;
  const pid = Number(readFileSync(pidFile, 'utf8').split('\n')[0]);
  if (Number.isInteger(pid) && pid > 1 && worksIn(pid, cluster)) {
    // Long enough for an orderly stop that is under way, short enough for a person who waits.
    if (!(await waitUntilGone(pid, 10_000))) process.kill(pid, 'SIGQUIT');
    if (!(await waitUntilGone(pid, 10_000))) throw new Error(`Another Postgres (process ${pid}) uses ${cluster}.`);
  }
  // Left by a kill -9. Postgres itself would refuse to start if a stranger of the same user has that pid by now.
  await rm(pidFile, { force: true });
}

/** Usually `dir`. As root it may lie where the user who runs Postgres cannot come; then a note there says where. */
async function findHome(dir: string, user: SystemUser | undefined): Promise<string> {
  if (user === undefined) return dir;
  const distant = readLocation(dir);
  if (distant !== undefined) return distant;
  if (existsSync(join(dir, 'cluster'))) {
    if (canEnter(dir, user)) return dir;
    throw new Error(`User ${user.name}, who runs Postgres for root, can no longer enter ${dir}: allow it (chmod o+x).`);
  }
  // The folder itself is ours to open, and opening it shows nothing: its files are for their owners only.
  await chmod(dir, 0o711);
  if (canEnter(dir, user)) return dir;
  await makeSystemFolder();
  const id = createHash('sha256').update(realpathSync(dir)).digest('hex').slice(0, 16);
  // With a random part, since a folder deleted and made anew must not meet the cluster of the former one.
  const home = join(systemFolder, `${id}-${randomBytes(4).toString('hex')}`);
  await mkdir(home);
  // Apart from mkdir, whose mode a strict umask would narrow.
  await chmod(home, 0o711);
  await writeFile(join(dir, locationFile), `${home}\n`);
  return home;
}

function readLocation(dir: string): string | undefined {
  const file = join(dir, locationFile);
  return existsSync(file) ? readFileSync(file, 'utf8').trim() : undefined;
}

async function initialise(home: string, cluster: string, options: ClusterOptions): Promise<void> {
  const { binaries, user, superuser } = options;
  // Made under another name first, so that an interrupted one is never taken for a cluster.
  const draft = `${cluster}.new`;
  await rm(draft, { recursive: true, force: true });
  await mkdir(draft, { mode: 0o700 });
  const passwordFile = join(home, 'initial-password');
  await writeFile(passwordFile, superuser.password, { mode: 0o600 });
  if (user) for (const path of [draft, passwordFile]) await chown(path, user.uid, user.gid);
  const args = [
    `--pgdata=${draft}`,
    `--username=${superuser.name}`,
    `--pwfile=${passwordFile}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    '--locale=C',
    ...(options.fsync ? [] : ['--no-sync']),
  ];
  try {
    await run(binaries.initdb, args, { cwd: home, ...(user ? { uid: user.uid, gid: user.gid } : {}) });
  } finally {
    await rm(passwordFile, { force: true });
  }
  await rename(draft, cluster);
}
