import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { WriteStream } from 'node:tty';
import { afterEach, beforeEach, describe, expect, inject, it, vi } from 'vitest';
import { createScreen } from '../../scripts/demo/screen.ts';
import { isAlive } from '../../scripts/embedded/process-identity.ts';
import { linesOf } from '../support/doc-blocks.ts';
import { quietNpm } from '../support/doc-shell.ts';
import { eventually } from '../support/eventually.ts';
import { readText, root } from '../support/sources.ts';

// A demo takes half a minute when the machine is free; beside other tests it may take several times that.
const demoTimeoutMs = 300_000;

/** As the pages have them. */
const lines = [...new Set(linesOf('npm run demo').map(({ text }) => text))];

describe('npm run demo', () => {
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(inject('runDir'), 'demo-'));
    await chmod(folder, 0o711);
    for (const name of ['tmp', 'home']) await mkdir(join(folder, name), { mode: 0o711 });
  });

  afterEach(() => rm(folder, { recursive: true, force: true }));

  /** Without the cache of tsx, which stays on purpose. */
  const listLeft = async (): Promise<string[]> =>
    (await readdir(join(folder, 'tmp'))).filter((name) => !/^tsx-/.test(name));

  /** As a person starts it, with a temporary folder of its own in which nothing may be left. */
  function startDemo(line: string, more: Record<string, string> = {}): ChildProcess {
    return spawn('bash', ['-c', line], {
      cwd: root,
      env: {
        PATH: process.env.PATH,
        HOME: join(folder, 'home'),
        TMPDIR: join(folder, 'tmp'),
        ...quietNpm,
        // Neither a database nor a port of somebody else's is any of its business.
        DATABASE_URL: 'postgres://127.0.0.1:1/none',
        PORT: '1',
        ...more,
      },
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  }

  async function run(
    line: string,
    more?: Record<string, string>,
  ): Promise<{ code: unknown; out: string; errors: string }> {
    const child = startDemo(line, more);
    if (!child.stdout || !child.stderr) throw new Error('it has no output');
    const [out, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
    return { code, out: out.replaceAll('\u00a0', ' '), errors };
  }

  it('is on a page', () => {
    expect(lines).toContain('npm run demo');
  });

  it.each(lines)(
    'shows that everything happened once, in plain lines, and leaves nothing behind: %s',
    {
      timeout: demoTimeoutMs,
    },
    async (line) => {
      const { code, out, errors } = await run(line);
      expect({ code, errors }, out).toEqual({ code: 0, errors: '' });
      const [, table = ''] = /^```\n( +asked for .*?duplicates: 0, lost: 0)\n```/ms.exec(readText('README.md')) ?? [];
      expect(table.split('\n')).toHaveLength(8);
      expect(out).toContain(table);
      expect(out).toContain('50 answers with status 201: 1 new, 49 replayed.');
      expect(out).toMatch(/kill -9 of worker 1 after \d+ mails\./);
      expect(out).toMatch(/FLUSHALL: Redis had [3-9]\d\d keys, now it has none\./);
      expect(out).not.toContain('\u001b');
      expect(out).not.toContain('\r');
      expect(await listLeft()).toEqual([]);
    },
  );

  it('finds what is doubled and what is lost, and then ends with exit code 1', { timeout: demoTimeoutMs }, async () => {
    const { code, out } = await run('npm run demo', { SEMEL_DEMO_SABOTAGE: 'true' });
    expect(code, out).toBe(1);
    expect(out).toMatch(/^ {3}one transfer, sent 50 times at once +1 +2 +1 +0$/m);
    expect(out).toMatch(/^ {3}transfers queued when Redis was emptied +300 +299 +0 +1$/m);
    expect(out).toMatch(/^ {3}mails, their worker killed in the middle +2 000 +2 000 +1 +1$/m);
    expect(out).toMatch(/^ {3}Ada has \d+ cents by the account and \d+ by the movements, not \d+\.$/m);
    expect(out).toMatch(/^ {3}duplicates: 2, lost: 2$/m);
  });

  it('ends in order at Ctrl-C, and leaves no process and no file behind', { timeout: demoTimeoutMs }, async () => {
    // Without npm, which ends by the signal, whatever its script says.
    const child = startDemo('node scripts/bootstrap.mjs demo');
    let out = '';
    child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
      out += chunk;
    });
    const worker = await eventually(
      () => {
        const [, pid] = /worker 1 is process (\d+)/.exec(out) ?? [];
        if (pid === undefined) throw new Error(out);
        return Number(pid);
      },
      { timeoutMs: 120_000 },
    );
    const pressedMs = performance.now();
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGINT');
    const [code] = await once(child, 'close');
    expect(code, out).toBe(130);
    // It takes a second. After ten, whatever still waits is killed, and that is not in order.
    expect(performance.now() - pressedMs).toBeLessThan(10_000);
    expect(isAlive(worker)).toBe(false);
    expect(await listLeft()).toEqual([]);
  });
});

describe('the screen of the demo', () => {
  function draw(isTTY: boolean, environment: NodeJS.ProcessEnv): string {
    const written: string[] = [];
    const stream: NodeJS.WriteStream = Object.assign(Object.create(WriteStream.prototype), { isTTY });
    vi.spyOn(stream, 'write').mockImplementation((chunk) => written.push(String(chunk)) > 0);
    const screen = createScreen(stream, environment);
    screen.progress('mails', 1_000, 2_000);
    screen.say(screen.paint('red', 'kill'));
    return written.join('');
  }

  it('has colours and a moving bar on a terminal, and keeps to NO_COLOR', () => {
    const coloured = draw(true, {});
    expect(coloured).toContain(`\r\u001b[K   \u001b[32m${'█'.repeat(15)}`);
    expect(coloured).toContain('1\u00a0000 of 2\u00a0000 mails\r\u001b[K   \u001b[31mkill');
    expect(draw(true, { NO_COLOR: '1' })).toBe(
      `\r\u001b[K   ${'█'.repeat(15)}${'░'.repeat(15)} 1\u00a0000 of 2\u00a0000 mails\r\u001b[K   kill\n`,
    );
  });

  it('has plain lines elsewhere', () => {
    expect(draw(false, {})).toBe('   kill\n');
    expect(draw(true, { TERM: 'dumb' })).toBe('   kill\n');
  });
});
