import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of the project. */
export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

export const readText = (path: string): string => readFileSync(join(root, path), 'utf8');

/** Every file of the project that is not ignored, as paths from its root. Works without git, too. */
export function listProject(folder = ''): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true })
    .filter((entry) => !isIgnored(entry.name))
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      return entry.isDirectory() ? listProject(path) : [path];
    })
    .sort();
}

const ignored = ['.git', ...readText('.gitignore').split('\n').filter(Boolean)];

function isIgnored(name: string): boolean {
  return ignored.some((line) => (line.startsWith('*') ? name.endsWith(line.slice(1)) : name === line.replace('/', '')));
}

/** What a source file imports: paths from the root for its own, names for packages. */
export function importsOf(path: string): string[] {
  const specifiers = readText(path).matchAll(/(?:\bfrom|\bimport)\s*\(?\s*'([^']+)'/g);
  return [...specifiers].map(([, specifier = '']) =>
    specifier.startsWith('.') ? relative(root, resolve(root, dirname(path), specifier)) : specifier,
  );
}
