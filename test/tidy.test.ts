import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { environmentVariables } from '../src/config.ts';
import { createRegistry, operations } from '../src/processors/registry.ts';
import { migrations } from '../src/store/migrations/index.ts';
import { openTestStores } from './support/service.ts';
import { importsOf, listProject, readText } from './support/sources.ts';

const project = listProject();
const code = project.filter((path) => /^(src|scripts|test)\/.*\.(ts|mjs)$/.test(path));
const src = code.filter((path) => path.startsWith('src/'));
const fileNameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

/** Files with a match, as `path: match`, so that a failure names its culprits. */
const findIn = (paths: readonly string[], pattern: RegExp): string[] =>
  paths.flatMap((path) => [...readText(path).matchAll(pattern)].map(([match]) => `${path}: ${match.trim()}`));

describe('imports', () => {
  // The client is for others: it takes types from everywhere, and nobody here uses it.
  const layers = ['store', 'receiver', 'processors', 'queues', 'api', 'client'];
  const layerOf = (path: string): number => layers.indexOf(path.split('/')[1] ?? '');
  const imports = src.flatMap((path) => importsOf(path).map((target) => ({ path, target })));
  const internal = imports.filter(({ target }) => target.startsWith('src/'));

  it('go one way: api, queues, processors, receiver, store', () => {
    const isUpward = (path: string, target: string) => layerOf(path) >= 0 && layerOf(target) > layerOf(path);
    expect(internal.filter(({ path, target }) => isUpward(path, target))).toEqual([]);
    // The check sees something at all, and every folder has its place in the order.
    expect(internal.filter(({ path, target }) => layerOf(path) > layerOf(target)).length).toBeGreaterThan(50);
    expect([...new Set(src.map((path) => path.split('/')[1]))].filter((name) => !name?.endsWith('.ts')).sort()).toEqual(
      layers.toSorted(),
    );
  });

  it('what all layers share stands on none of them', () => {
    const shared = ['src/config.ts', 'src/errors.ts', 'src/failpoints.ts', 'src/log.ts', 'src/metrics.ts'];
    expect(internal.filter(({ path, target }) => shared.includes(path) && layerOf(target) >= 0)).toEqual([]);
  });

  it('the package that others import is the receiver, which stands on packages and on little of the store', () => {
    const reach = (path: string): string[] => [
      path,
      ...importsOf(path)
        .filter((to) => to.startsWith('src/'))
        .flatMap(reach),
    ];
    const reached = [...new Set(reach('src/index.ts'))].filter((path) => !path.startsWith('src/receiver/'));
    expect(reached.sort()).toEqual([
      'src/index.ts',
      'src/store/deadline.ts',
      'src/store/dedup.ts',
      'src/store/migrations/0008_dedup.ts',
    ]);
  });

  it('the client loads nothing but itself and Node: what it takes from elsewhere is types', () => {
    const client = src.filter((path) => path.startsWith('src/client/'));
    const loaded = findIn(client, /^(?:import|export) (?!type\b)[^;]*? from '[^']+'/gm);
    expect(loaded.length).toBeGreaterThan(10);
    expect(loaded.filter((line) => !/ from '(?:node:|\.\/)[^']+'$/.test(line))).toEqual([]);
  });

  it('only main sees the composition root, and nothing sees main', () => {
    const importersOf = (file: string) => internal.filter(({ target }) => target === file).map(({ path }) => path);
    expect(importersOf('src/compose.ts')).toEqual(['src/main.ts']);
    expect(importersOf('src/main.ts')).toEqual([]);
  });

  it('the SDK of S3 is loaded by whoever uses S3, because it makes every start slower', () => {
    const users = listProject('src').filter((path) => importsOf(path).some((each) => each.startsWith('@aws-sdk/')));
    expect(users).toEqual(['src/store/files/s3-file-storage.ts']);
    const statically = /^(?:import|export) (?!type).*from '.*\/s3-file-storage\.ts'/m;
    expect(listProject('src').filter((path) => statically.test(readText(path)))).toEqual([]);
  });

  it('the API is loaded by whoever serves it, and not by workers and migrations', () => {
    const importers = internal.filter(({ target }) => target === 'src/compose-api.ts').map(({ path }) => path);
    expect(importers).toEqual(['src/compose.ts']);
    const statically = /^import (?!type).*from '.*\/(?:compose-api|api\/.*)\.ts'/m;
    const loaders = listProject('src').filter(
      (path) => /^src\/(?:compose|main)/.test(path) && statically.test(readText(path)),
    );
    expect(loaders).toEqual(['src/compose-api.ts']);
  });

  it('lead to files that exist, and never from src to scripts or test', () => {
    expect(imports.filter(({ target }) => /^(scripts|test)\//.test(target))).toEqual([]);
    expect(internal.filter(({ target }) => !project.includes(target))).toEqual([]);
  });
});

describe('each thing has one place', () => {
  it('the environment is read by main, which hands it to the configuration', () => {
    expect(findIn(src, /process\.env/g)).toEqual(['src/main.ts: process.env']);
  });

  it('SQL is in the store', () => {
    const elsewhere = src.filter((path) => !path.startsWith('src/store/'));
    const statements = /\bsql(<[^>]*>)?`|\.(selectFrom|insertInto|updateTable|deleteFrom|mergeInto|executeQuery)\(/g;
    expect(findIn(elsewhere, statements)).toEqual([]);
    expect(elsewhere.filter((path) => importsOf(path).some((name) => name === 'kysely' || name === 'pg'))).toEqual([]);
    expect(findIn(src, statements).length).toBeGreaterThan(30);
  });
});

describe('files', () => {
  it('have at most 300 lines', () => {
    const sizes = code.map((path) => ({ path, lines: readText(path).trimEnd().split('\n').length }));
    expect(sizes.filter(({ lines }) => lines > 300)).toEqual([]);
  });

  it('are named in kebab-case, migrations by number and change', () => {
    const kebab = /^[a-z0-9]+(-[a-z0-9]+)*(\.test|\.d)?\.(ts|mjs)$/;
    const folders = code.flatMap((path) => path.split('/').slice(0, -1));
    expect(folders.filter((name) => !/^[a-z0-9]+(-[a-z0-9]+)*$/.test(name))).toEqual([]);
    const names = code.filter((path) => !/^src\/store\/migrations\/\d{4}_[a-z0-9_]+\.ts$/.test(path));
    expect(names.filter((path) => !kebab.test(fileNameOf(path)))).toEqual([]);
  });

  it('are named for what is in them', () => {
    expect(code.filter((path) => /\b(utils?|helpers?|common|managers?|misc)\b/.test(path))).toEqual([]);
  });
});

describe('migrations', () => {
  it('are numbered from 0001 without a gap and are all listed, in order', () => {
    const files = src
      .filter((path) => path.startsWith('src/store/migrations/') && !path.endsWith('/index.ts'))
      .map((path) => fileNameOf(path).replace('.ts', ''));
    expect(Object.keys(migrations)).toEqual(files);
    expect(files.map((name) => Number(name.slice(0, 4)))).toEqual(files.map((_, index) => index + 1));
    // The list must not only name a migration but mean the file of that name.
    const list = readText('src/store/migrations/index.ts');
    for (const name of files) {
      const [, alias] = new RegExp(`import \\* as (\\w+) from './${name}\\.ts'`).exec(list) ?? [];
      expect(list).toMatch(new RegExp(`'${name}': ${alias},`));
    }
  });
});

describe('operations', () => {
  it('are all registered', async () => {
    const files = src.filter(
      (path) => /^src\/processors\/[^/]+\//.test(path) && /defineOperation\(/.test(readText(path)),
    );
    expect(files.length).toBeGreaterThan(0);
    const defined = await Promise.all(
      files.map(async (path) => Object.values<unknown>(await import(`../${path}`)).filter(isOperation)),
    );
    expect(defined.every((exported) => exported.length > 0)).toBe(true);
    expect(new Set(operations)).toEqual(new Set(defined.flat()));
  });

  it('two of one name stop the start', () => {
    const [first] = operations;
    if (!first) throw new Error('no operation is registered');
    expect(() => createRegistry([...operations, { ...first }])).toThrow(`two operations are named ${first.name}`);
  });
});

function isOperation(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'name' in value && 'request' in value && 'onMismatch' in value;
}

it('the tables and columns of a migrated database are those of the schema', async () => {
  const stores = await openTestStores();
  try {
    const { rows } = await sql<{ table_name: string; column_name: string }>`
      select c.relname as table_name, a.attname as column_name
      from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
      where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
        and c.relname not like 'kysely_migration%'`.execute(stores.db);
    expect(rows.map((row) => `${row.table_name}.${row.column_name}`).sort()).toEqual(readSchema().sort());
  } finally {
    await stores.close();
  }
});

/** The columns that the types speak of, as `table.column`. */
function readSchema(): string[] {
  const schema = readText('src/store/schema.ts');
  const store = src.filter((path) => path.startsWith('src/store/')).map(readText);
  return [...schema.matchAll(/^ {2}(\w+): (\w+);$/gm)].flatMap(([, table, type]) => {
    const [, body] = new RegExp(`export interface ${type} \\{\n(.*?)\n\\}`, 's').exec(store.join('\n')) ?? [];
    return [...(body ?? '').matchAll(/^ {2}(\w+)\??:/gm)].map(([, column]) => `${table}.${column}`);
  });
}

describe('environment variables', () => {
  const compose = readText('docker-compose.yml').matchAll(/\$\{([A-Z0-9_]+)/g);
  const ofCompose = [...compose].map(([, name = '']) => name);

  it('are all in .env.example, which has no others', () => {
    const named = [...readText('.env.example').matchAll(/^#?([A-Z0-9_]+)=/gm)].map(([, name = '']) => name);
    expect(named).toHaveLength(new Set(named).size);
    expect(new Set(named)).toEqual(new Set([...environmentVariables, ...ofCompose]));
  });

  it('are all in the table of the README, which has no others', () => {
    const named = [...readText('README.md').matchAll(/^\| `([A-Z0-9_]+)` +\|/gm)].map(([, name = '']) => name);
    expect(named).toHaveLength(new Set(named).size);
    expect(new Set(named)).toEqual(new Set(environmentVariables));
  });
});

describe('the project speaks only of itself', () => {
  const texts = project.filter((path) => path !== 'package-lock.json');

  it('no path of anybody’s machine', () => {
    // Put together here, so that this file does not name them.
    const homes = ['work', 'root', 'home', 'Users'].map((name) => `/${name}/`).join('|');
    expect(findIn(project, new RegExp(`(?<![\\w.*}])(${homes})`, 'g'))).toEqual([]);
  });

  it('no host but this machine, examples and the few that are meant', () => {
    // The README compares Semel with others by what their documentation says.
    const compared = ['docs.restate.dev', 'docs.dbos.dev', 'docs.temporal.io', 'docs.bullmq.io', 'github.com'];
    const meant = ['keepachangelog.com', 'semver.org', 'www.w3.org', ...compared];
    const harmless = /^(localhost|127[\d.]*|0\.0\.0\.0|[^.]+|.*\.(example|test|invalid|localhost))$/;
    const hosts = findIn(texts, /(?<=https?:\/\/)[A-Za-z0-9.-]+/g).map((line) => line.split(': '));
    expect(hosts.filter(([, host = '']) => !meant.includes(host) && !harmless.test(host))).toEqual([]);
  });

  it('the lock file says what to install and not from where', () => {
    expect(findIn(['package-lock.json'], /"resolved": .*/g)).toEqual([]);
  });
});
