import { readAuditOptions } from '../../scripts/audit-verify/options.ts';
import { readOptions as readBenchOptions } from '../../scripts/bench/options.ts';
import { readOptions as readBulkOptions } from '../../scripts/bulk/options.ts';
import { readOptions as readSoakOptions } from '../../scripts/soak/options.ts';
import { environmentVariables } from '../../src/config.ts';
import { operations } from '../../src/processors/registry.ts';
import { linesOf } from './doc-blocks.ts';
import { checkCompose } from './doc-compose.ts';
import { listProject } from './sources.ts';

/** What a reader types, word by word, and the environment in which it would begin. */
export interface TypedCommand {
  words: readonly string[];
  environment: Readonly<Record<string, string>>;
}

export interface KnownCommand {
  command: string;
  /** Throws with what is wrong with the arguments. */
  check: (args: string[], typed: TypedCommand) => unknown;
  /** Why the page's line is not run where its block is, and who runs it instead. Without it, it is run there. */
  because?: string;
}

const testFiles = listProject('test').filter((path) => path.endsWith('.test.ts'));

/** Every npm, npx and docker command that a page may show. What is named by the arguments has to exist in any case. */
export const knownCommands: readonly KnownCommand[] = [
  {
    command: 'npm start',
    check: (args, typed) => checkIsFound('npm start', args, typed),
    because: 'it does not end by itself; test/scripts/start.test.ts starts every such line of the pages',
  },
  {
    command: 'npm run demo',
    check: (args, typed) => checkIsFound('npm run demo', args, typed),
    because: 'it takes half a minute; test/scripts/demo.test.ts runs every such line of the pages',
  },
  { command: 'npm run bulk', check: checkBulk },
  { command: 'npm run audit:verify', check: readAuditOptions },
  {
    command: 'npm run bench',
    check: readBenchOptions,
    because:
      'it measures for minutes; test/scripts/bench.test.ts runs one such line of the pages, in the shortest rounds',
  },
  {
    command: 'npm run lab',
    check: refuseArguments,
    because: 'it runs test/faults/lab-processes.test.ts and the others of the lab, as npm test does, and writes a page',
  },
  {
    command: 'npm run soak',
    check: readSoakOptions,
    because: 'it takes minutes; test/faults/lab-processes.test.ts and the others of the lab run with the same parts',
  },
  { command: 'npm test', check: checkFilters, because: 'it is what runs this' },
  { command: 'npx vitest run', check: checkFilters, because: 'it is what runs this' },
  ...['build', 'check', 'format'].map((name) => ({
    command: `npm run ${name}`,
    check: refuseArguments,
    because: 'it writes to the folder of the project, which other tests read; npm test does the same first',
  })),
  {
    command: 'docker compose',
    check: checkCompose,
    because: 'there is no Docker in the tests; test/docker.test.ts checks its files',
  },
];

const textOf = ({ words }: TypedCommand): string => words.join(' ');

export const findKnown = (typed: TypedCommand): KnownCommand | undefined =>
  knownCommands.find(({ command }) => `${textOf(typed)} `.startsWith(`${command} `));

/** What is wrong with a command of a page, in words. */
export function checkCommand(typed: TypedCommand): string | undefined {
  const known = findKnown(typed);
  if (!known) return `nothing checks "${textOf(typed)}"`;
  try {
    const rest = typed.words.slice(known.command.split(' ').length);
    known.check(typed.words[0] === 'npm' ? passedOn(rest) : rest, typed);
    return undefined;
  } catch (error) {
    return `"${textOf(typed)}" is wrong: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** Another test runs the lines that it finds on the pages; this has to be one of them. */
function checkIsFound(command: string, args: string[], typed: TypedCommand): void {
  refuseArguments(args);
  const isFound = linesOf(command).some(({ text }) => ` ${text}`.endsWith(` ${textOf(typed)}`));
  if (!isFound) throw new Error('no test runs it');
}

/** Variables that a line sets for a program, and that none of ours reads. What a reader keeps for later is exported. */
export function unknownVariables(source: string): string[] {
  const assigned = source.split('\n').flatMap((line) => /^(?:\w+=\S* *)+/.exec(line)?.[0].match(/\w+(?==)/g) ?? []);
  return assigned.filter((name) => !/^AWS_/.test(name) && !environmentVariables.includes(name));
}

/** What npm hands to the script. */
function passedOn(words: readonly string[]): string[] {
  const end = words.indexOf('--');
  const own = end === -1 ? words : words.slice(0, end);
  const taken = own.find((word) => word.startsWith('-'));
  if (taken !== undefined) throw new Error(`npm takes ${taken} for itself, unless -- comes before it`);
  return [...own, ...(end === -1 ? [] : words.slice(end + 1))];
}

function refuseArguments(args: string[]): void {
  if (args.length > 0) throw new Error(`it takes no ${args.join(' ')}`);
}

function checkBulk(args: string[], { environment }: TypedCommand): void {
  // In a text it may be no more than its name.
  if (args.length === 0) return;
  const options = readBulkOptions(args, environment);
  if (options && !operations.some(({ name }) => name === options.operation)) {
    throw new Error(`there is no operation ${options.operation}`);
  }
}

/** Vitest runs the files whose path contains one of these. */
function checkFilters(args: string[]): void {
  const unknown = args.find((arg) => !testFiles.some((file) => file.includes(arg)));
  if (unknown !== undefined) throw new Error(`there is no test ${unknown}`);
}
