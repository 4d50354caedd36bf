import { isAlive } from '../../scripts/embedded/process-identity.ts';

/** A server of one test's own, to be killed, paused and started again on the same port with the same data. */
export interface PrivateServer {
  readonly url: string;
  readonly port: number;
  /** Where its data lies. */
  readonly dir: string;
  pid(): number;
  /** kill -9, and waits until it is gone. */
  kill(): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
}

interface RunningServer {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  readonly exited: Promise<void>;
  stop(): Promise<void>;
}

export async function startRestartableServer(
  dir: string,
  start: (port?: number) => Promise<RunningServer>,
): Promise<PrivateServer> {
  let current = await start();
  const { url, port } = current;
  return {
    url,
    port,
    dir,
    pid: () => current.pid,
    kill: async () => {
      if (isAlive(current.pid)) process.kill(current.pid, 'SIGKILL');
      await current.exited;
    },
    start: async () => {
      if (isAlive(current.pid)) throw new Error('The private server is running already.');
      current = await start(port);
    },
    stop: async () => {
      // A paused server cannot stop in order.
      if (isAlive(current.pid)) process.kill(current.pid, 'SIGCONT');
      await current.stop();
    },
  };
}
