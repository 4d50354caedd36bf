import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { StartError } from './start-error.ts';

// Whatever changes the outcome of a build.
const configFiles = ['tsconfig.json', 'tsconfig.build.json', 'package-lock.json'];

/** Compiles src/ to dist/ unless dist/ was made from exactly these sources. */
export function buildIfNeeded(root: string, onProgress: (line: string) => void): void {
  const stamp = join(root, 'dist', '.built-from');
  const sources = listFiles(join(root, 'src'));
  const hash = hashOf(root, sources);
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === hash) return;
  onProgress('Building …');
  const tsc = join(root, 'node_modules', '.bin', 'tsc');
  const { status, error } = spawnSync(tsc, ['-p', 'tsconfig.build.json'], { cwd: root, stdio: 'inherit' });
  if (status !== 0)
    throw new StartError(`The build failed${error ? `: ${error.message}` : '; the compiler says why above'}.`);
  removeOrphans(root, sources);
  writeFileSync(stamp, hash);
}

/** Output of sources that are gone, such as a renamed migration. The rest stays, since a service may be running from it. */
function removeOrphans(root: string, sources: readonly string[]): void {
  const known = new Set(sources.map((file) => file.replace(/\.ts$/, '')));
  for (const file of listFiles(join(root, 'dist'))) {
    if (/\.js(\.map)?$/.test(file) && !known.has(file.replace(/\.js(\.map)?$/, ''))) rmSync(join(root, 'dist', file));
  }
}

function hashOf(root: string, sources: readonly string[]): string {
  const hash = createHash('sha256');
  for (const file of [...configFiles, ...sources.map((source) => join('src', source))]) {
    const content = readFileSync(join(root, file));
    hash.update(`${file}\0${content.length}\0`).update(content);
  }
  return hash.digest('hex');
}

function listFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();
}
