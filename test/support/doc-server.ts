import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { eventually } from './eventually.ts';
import { root } from './sources.ts';

export interface DocServer {
  readonly url: string;
  /** What it printed so far, both streams together. */
  readonly output: () => string;
  readonly stop: () => Promise<void>;
}

/** Runs a program of a page that listens on the port. Resolves once it answers anything at all. */
export async function startDocServer(file: string, port: number, more: Record<string, string>): Promise<DocServer> {
  const child = spawn(process.execPath, ['--import', 'tsx', file], {
    cwd: root,
    env: { ...process.env, ...more },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const closed = once(child, 'close');
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk;
    });
  }
  const stop = async (): Promise<void> => {
    child.kill();
    await closed;
  };
  const url = `http://127.0.0.1:${port}/`;
  try {
    await eventually(async () => {
      const answer = await fetch(url).catch(() => undefined);
      if (!answer) throw new Error(`nothing answers at ${url}: ${output}`);
    });
  } catch (error) {
    await stop();
    throw error;
  }
  return { url, output: () => output, stop };
}
