import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { compareOutput, type DocBlock, placeOf } from './doc-blocks.ts';

/** Commands that a page may show and that are not run here, each with the reason and who checks it instead. */
export const notRun: readonly { command: RegExp; because: string }[] = [
  { command: /^npm (start|test)( |$)/, because: 'test/scripts/start.test.ts starts it, and this is part of npm test' },
  { command: /^npm run demo( |$)/, because: 'test/scripts/demo.test.ts runs it' },
  { command: /^npm run bench( |$)/, because: 'it measures for minutes; the figures on the page come from it' },
  { command: /^npm run audit:verify( |$)/, because: 'test/scripts/audit-verify.test.ts runs it' },
  { command: /^npm run bulk( |$)/, because: 'test/scripts/bulk-enqueue.test.ts runs it' },
  { command: /^npx vitest( |$)/, because: 'it is what runs this' },
  { command: /^docker compose( |$)/, because: 'there is no Docker in the tests; test/docker.test.ts checks its files' },
];

export interface ShellResult {
  output: string;
  faults: string[];
}

/** What stands for something that only a reader has, and what it is here. */
export type Placeholders = readonly (readonly [shown: string | RegExp, meant: string | (() => Promise<string>)])[];

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
    for (const name of ['npm', 'npx', 'docker']) {
      await writeProgram(join(bin, name), `echo "${name} $*" > "$CALLS/$(date +%s%N).command"`);
    }
    const environment = { PATH: `${bin}${delimiter}${process.env.PATH}`, CALLS: join(folder, 'calls'), HOME: folder };
    return new DocShell({ ...options, environment: { ...options.environment, ...environment } });
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
    // An ellipsis is a value that the reader has: what the variable is already.
    let filled = source.replaceAll(/\b([A-Z_]+)=…/g, '$1="$$$1"');
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
        if (!notRun.some(({ command }) => command.test(content.trim())))
          faults.push(`nothing checks "${content.trim()}"`);
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

async function writeProgram(path: string, line: string): Promise<void> {
  await writeFile(path, `#!/usr/bin/env bash\n${line}\n`);
  await chmod(path, 0o755);
}

async function findProgram(name: string): Promise<string> {
  const which = spawn('bash', ['-c', `command -v ${name}`], { stdio: ['ignore', 'pipe', 'inherit'] });
  return (await text(which.stdout)).trim();
}
