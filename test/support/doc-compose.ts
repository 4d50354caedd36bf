import { parseArgs } from 'node:util';
import { parse as parseYaml } from 'yaml';
import type { TypedCommand } from './doc-commands.ts';
import { readText } from './sources.ts';

const source = readText('docker-compose.yml');
const services = Object.keys(parseYaml(source, { merge: true }).services);

/** What `docker compose` needs before it starts anything: options it knows, services of the file, and the variables. */
export function checkCompose(args: string[], { environment }: TypedCommand): void {
  const [command, ...rest] = args;
  // Without a command it is the program that is spoken of.
  if (command === undefined) return;
  if (command !== 'up') throw new Error(`the test knows no "docker compose ${command}" yet`);
  const { values, positionals } = parseArgs({
    args: rest,
    allowPositionals: true,
    options: {
      build: { type: 'boolean' },
      detach: { type: 'boolean', short: 'd' },
      scale: { type: 'string', multiple: true },
    },
  });
  checkServices(positionals);
  for (const scale of values.scale ?? []) {
    const [, name = '', count = ''] = /^(.*)=(\d+)$/.exec(scale) ?? [];
    if (count === '') throw new Error(`--scale ${scale} is not SERVICE=NUMBER`);
    checkServices([name]);
  }
  const required = [...source.matchAll(/\$\{(\w+):\?/g)].map(([, name = '']) => name);
  const missing = required.filter((name) => !environment[name]);
  if (missing.length > 0) throw new Error(`docker-compose.yml needs ${[...new Set(missing)].join(', ')}`);
}

export function checkServices(names: readonly string[]): void {
  const unknown = names.find((name) => !services.includes(name));
  if (unknown !== undefined) throw new Error(`docker-compose.yml has no service ${unknown}`);
}
