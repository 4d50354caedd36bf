import { execFile } from 'node:child_process';
import { statSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { isAlive } from '../../scripts/embedded/process-identity.ts';
import { linesOf } from '../support/doc-blocks.ts';
import { expectGone, makeDataDir, NpmStart, type StartOptions } from '../support/npm-start.ts';

const run = promisify(execFile);
/** As the pages have them. */
const lines = [...new Set(linesOf('npm start').map(({ text }) => text))];
const paste = async (command: string): Promise<string> => (await run('sh', ['-c', command])).stdout;

describe('npm start', () => {
  const dataDirs: Awaited<ReturnType<typeof makeDataDir>>[] = [];
  let started: NpmStart[] = [];

  const start = async (options?: StartOptions): Promise<NpmStart> => {
    const one = await NpmStart.in(dataDir(), options);
    started.push(one);
    return one;
  };

  const useNewDataDir = async (): Promise<void> => {
    dataDirs.push(await makeDataDir());
  };
  const dataDir = (): string => dataDirs.at(-1)?.path ?? '';

  // Most tests share it, since a start over what is there takes less time than a first one.
  beforeAll(useNewDataDir);

  afterEach(async () => {
    await Promise.all(started.map((one) => one.end()));
    started = [];
  });

  afterAll(async () => {
    for (const each of dataDirs) await each.remove();
  });

  it('is on a page', () => {
    expect(lines).toContain('npm start');
  });

  it.each(lines)(
    'prints a curl that works, keeps the data, and leaves no process behind at Ctrl-C: %s',
    async (line) => {
      await useNewDataDir();
      const first = await start({ line });
      const answer = await paste(await first.curl());
      expect(first.output).toContain(`http://127.0.0.1:${first.port}/docs`);
      expect(answer).toMatch(/^HTTP\/1\.1 201/);
      expect(answer).toMatch(/idempotent-replayed: false/i);
      expect(statSync(join(dataDir(), 'credentials.json')).mode & 0o777).toBe(0o600);
      const pids = first.pids();
      for (const pid of Object.values(pids)) expect(isAlive(pid)).toBe(true);

      first.pressCtrlC();
      await first.exitCode;
      expect(first.output).toContain('\nStopped.\n');
      await expectGone(pids);

      const second = await start();
      const replay = await paste(await second.curl());
      expect(replay).toMatch(/^HTTP\/1\.1 201/);
      expect(replay).toMatch(/idempotent-replayed: true/i);
      expect(replay.split('\r\n\r\n')[1]).toBe(answer.split('\r\n\r\n')[1]);
      second.pressCtrlC();
      // npm itself ends by the signal, whatever its script says.
      expect(await second.exitCode).toBe(0);
    },
  );

  it('refuses beside a running one and names its URL', async () => {
    const first = await start();
    await first.curl();
    const second = await start();
    expect(await second.exitCode).toBe(1);
    expect(second.output.trim()).toMatch(
      new RegExp(`^Semel is already running at http://127\\.0\\.0\\.1:${first.port} .*$`),
    );
    expect(isAlive(first.pids().service)).toBe(true);
  });

  it('leaves no process behind when it is killed, and starts again over what that left', async () => {
    const first = await start();
    await first.curl();
    const pids = first.pids();
    process.kill(pids.start, 'SIGKILL');
    await expectGone(pids);

    const second = await start();
    expect(await paste(await second.curl())).toMatch(/^HTTP\/1\.1 201/);
  });

  it('ends with exit code 1 and leaves no process behind when the service is killed', async () => {
    const first = await start();
    await first.curl();
    const pids = first.pids();
    process.kill(pids.service, 'SIGKILL');
    expect(await first.exitCode).toBe(1);
    expect(first.output).toContain('The service ended unexpectedly (signal SIGKILL).');
    await expectGone(pids);
  });

  it('ends with exit code 1 and leaves no process behind when Postgres is killed', async () => {
    const first = await start();
    await first.curl();
    const pids = first.pids();
    process.kill(pids.postgres, 'SIGKILL');
    expect(await first.exitCode).toBe(1);
    expect(first.output).toContain('Postgres ended unexpectedly');
    await expectGone(pids);
  });

  it('says in one line that the PORT it was given is taken', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    try {
      await new Promise((resolve) => other.once('listening', resolve));
      const address = other.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      const refused = await start({ environment: { PORT: String(port) } });
      expect(await refused.exitCode).toBe(1);
      expect(refused.output.trim().split('\n').at(-1)).toBe(
        `Port ${port} is taken by another program: set PORT to a free one.`,
      );
    } finally {
      other.close();
    }
  });

  it('takes the credentials of the environment before its own', async () => {
    const apiKey = "given-'key'-with-quotes";
    const one = await start({ environment: { SEMEL_API_KEY: apiKey } });
    expect(one.output + (await one.curl())).toContain("given-'\\''key'\\''-with-quotes");
    expect(await paste(await one.curl())).toMatch(/^HTTP\/1\.1 201/);
  });
});
