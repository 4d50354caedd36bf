import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { compareOutput, type DocBlock, placeOf } from './doc-blocks.ts';
import { checkCommand, findKnown, knownCommands, type TypedCommand } from './doc-commands.ts';
import { root } from './sources.ts';

/** It would ask the registry for a newer npm. */
export const quietNpm = { npm_config_update_notifier: 'false', npm_config_offline: 'true' };

export interface ShellResult {
  output: string;
  faults: string[];
}

/** What stands for something that only a reader has, and what it is here. */
export type Placeholders = readonly (readonly [shown: string | RegExp, meant: string | (() => Promise<string>)])[];

const readersOwn = 'a-value-that-only-the-reader-has';

const advice = 'Mend the page; if it stands for something that only a reader has, add it to `placeholders`.';

export interface DocShellOptions {
  folder: string;
  /** What a reader has as `.semel`. */
  dataDir: string;
  environment: Record<string, string>;
  placeholders: Placeholders;
  /** Resolves when nothing is under way: a reader takes longer from one block to the next than a worker for its work. */
  settle: () => Promise<void>;
}

/** Runs the commands of a page in order. What a block exports holds for the blocks after it, as in a reader's shell. */
export class DocShell {
  readonly #folder: string;
  readonly #environment: Record<string, string>;
  readonly #placeholders: Placeholders;
  readonly #settle: () => Promise<void>;
  readonly #ids = new Map<string, string>();

  private constructor({ folder, environment, placeholders, settle }: DocShellOptions) {
    this.#folder = folder;
    this.#environment = environment;
    this.#placeholders = placeholders;
    this.#settle = settle;
  }

  static async open(options: DocShellOptions): Promise<DocShell> {
    const { folder } = options;
    const bin = join(folder, 'bin');
    await mkdir(bin, { recursive: true });
    await mkdir(join(folder, 'calls'));
    await mkdir(join(folder, 'cwd'));
    await symlink(options.dataDir, join(folder, 'cwd', '.semel'));
    await writeFile(join(folder, 'state'), '');
    // The real one, which also notes what was answered. A minute is longer than anything here takes.
    const curl = `exec ${await findProgram('curl')} "$@" --max-time 60 -D "$CALLS/$(date +%s%N).answer"`;
    await writeProgram(join(bin, 'curl'), curl);
    for (const name of ['npm', 'npx', 'docker']) await writeProgram(join(bin, name), await standInFor(name));
    const environment = {
      PATH: `${bin}${delimiter}${process.env.PATH}`,
      CALLS: join(folder, 'calls'),
      HOME: folder,
      ...quietNpm,
    };
    return new DocShell({ ...options, environment: { ...options.environment, ...environment } });
  }

  /** Puts what a block shows into the file that the page names. */
  async write({ file = '', text: content }: DocBlock): Promise<void> {
    await writeFile(join(this.#folder, 'cwd', file), await this.#fillIn(content));
  }

  async run(block: DocBlock): Promise<ShellResult> {
    const state = join(this.#folder, 'state');
    await this.#settle();
    const keep = `trap 'export -p > ${state}' EXIT`;
    const script = `set -eo pipefail; source ${state}; ${keep}; ${await this.#fillIn(block.text)}`;
    const shell = spawn('bash', ['-c', script], {
      cwd: join(this.#folder, 'cwd'),
      env: this.#environment,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const [output, errors, [code]] = await Promise.all([text(shell.stdout), text(shell.stderr), once(shell, 'close')]);
    const faults = code === 0 ? [] : [`it ended with exit code ${code}: ${errors}`];
    faults.push(...(await this.#readCalls(block)));
    if (block.shown !== undefined) {
      const { faults: differences, ids } = compareOutput(block.shown, output);
      faults.push(...differences);
      for (const [shown, came] of ids) this.#ids.set(shown, came);
    }
    return { output, faults: faults.map((fault) => `${placeOf(block)}: ${fault}\n${block.text}${output}\n${advice}`) };
  }

  async #fillIn(source: string): Promise<string> {
    // An ellipsis is a value that the reader has: what the variable is already, or anything.
    let filled = source.replaceAll(/\b([A-Z_]+)=…/g, (_, name) => `${name}="\${${name}:-${readersOwn}}"`);
    for (const [shown, came] of this.#ids) filled = filled.replaceAll(shown, came);
    for (const [shown, meant] of this.#placeholders) {
      const isThere = typeof shown === 'string' ? filled.includes(shown) : shown.test(filled);
      if (!isThere) continue;
      const value = typeof meant === 'string' ? meant : await meant();
      filled = typeof shown === 'string' ? filled.replaceAll(shown, value) : filled.replace(shown, value);
    }
    return filled;
  }

  /** An answer is as it should be if it is a success, a conflict with the state of things, or what the page shows. */
  async #readCalls({ shown }: DocBlock): Promise<string[]> {
    const faults: string[] = [];
    const calls = join(this.#folder, 'calls');
    for (const name of (await readdir(calls)).sort()) {
      const content = await readFile(join(calls, name), 'utf8');
      if (name.endsWith('.command')) {
        const typed = readCommand(content);
        const known = findKnown(typed);
        const wasRun = known !== undefined && known.because === undefined;
        const fault = wasRun ? undefined : checkCommand(typed);
        if (fault !== undefined) faults.push(fault);
      } else {
        const status = [...content.matchAll(/^HTTP\/\S+ (\d+)/gm)].map(([, code]) => code).at(-1) ?? 'nothing';
        const isFine = /^(2\d\d|409)$/.test(status) || shown?.includes(`HTTP/1.1 ${status}`);
        if (!isFine) faults.push(`a curl was answered with ${status}`);
      }
      await rm(join(calls, name));
    }
    return faults;
  }
}

/** Notes how it was called. The real one runs if nobody else runs the command, from the reader's folder. */
async function standInFor(name: string): Promise<string> {
  const isRun = knownCommands.filter(({ command, because }) => command.startsWith(`${name} `) && !because);
  const real = isRun.length > 0 ? await findProgram(name) : '';
  const cases = isRun.map(({ command }) => `"${command} "*) exec ${real} --prefix ${root} "$@";;`);
  return `{ printf '%s\\0' ${name} "$@"; printf '\\0'; env -0; } > "$CALLS/$(date +%s%N).command"
case "${name} $* " in ${cases.join(' ')} esac`;
}

/** The words, nothing, and the environment, each ended by a zero byte. */
function readCommand(content: string): TypedCommand {
  const parts = content.split('\0');
  const end = parts.indexOf('');
  const variables = parts
    .slice(end + 1, -1)
    .map((each) => [each.split('=', 1)[0] ?? '', each.slice(each.indexOf('=') + 1)]);
  return { words: parts.slice(0, end), environment: Object.fromEntries(variables) };
}

async function writeProgram(path: string, line: string): Promise<void> {
  await writeFile(path, `#!/usr/bin/env bash\n${line}\n`);
  await chmod(path, 0o755);
}

async function findProgram(name: string): Promise<string> {
  const which = spawn('bash', ['-c', `command -v ${name}`], { stdio: ['ignore', 'pipe', 'inherit'] });
  return (await text(which.stdout)).trim();
}
