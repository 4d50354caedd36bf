import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ScenarioResult } from '../../test/support/lab/scenario.ts';
import { findOrInstallFaketime } from '../embedded/find-faketime.ts';
import { findOrInstallRedis } from '../embedded/redis-server.ts';
import { buildIfNeeded } from '../start/build-service.ts';
import { renderTables } from './render-table.ts';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const page = join(root, 'docs', 'guarantees.md');
const [begin, end] = ['<!-- lab: begin -->', '<!-- lab: end -->'];

/** Runs every scenario and writes what became of it into the documentation. */
function main(): number {
  findOrInstallRedis(console.log);
  findOrInstallFaketime(console.log);
  buildIfNeeded(root, console.log);
  const vitest = join(root, 'node_modules', '.bin', 'vitest');
  const { status } = spawnSync(vitest, ['run', 'test/faults/lab-', ...process.argv.slice(2)], {
    cwd: root,
    stdio: 'inherit',
  });
  if (status !== 0) return status ?? 1;
  writeTables();
  return 0;
}

function writeTables(): void {
  const text = readFileSync(page, 'utf8');
  const [before, rest] = text.split(begin);
  const [, after] = (rest ?? '').split(end);
  if (before === undefined || after === undefined) throw new Error(`${page} has no ${begin} … ${end}`);
  writeFileSync(page, `${before}${begin}\n\n${renderTables(readResults())}\n\n${end}${after}`);
}

function readResults(): ScenarioResult[] {
  const folder = join(root, 'node_modules', '.cache', 'semel-lab');
  const groups = ['processes', 'redis', 'postgres', 'traffic', 'clocks', 'sabotage'];
  const files = readdirSync(folder);
  return groups
    .filter((group) => files.includes(`${group}.json`))
    .flatMap((group): ScenarioResult[] => JSON.parse(readFileSync(join(folder, `${group}.json`), 'utf8')));
}

process.exit(main());
