import { findFreePort, isPortTaken } from '../embedded/free-port.ts';
import { StartError } from './start-error.ts';

export interface Address {
  readonly host: string;
  readonly port: number;
  /** How this machine itself reaches it. */
  readonly url: string;
}

const defaultPort = 3000;

/** The port that was asked for, or nothing; without a wish the usual one, or a free one if that is taken. */
export async function chooseAddress(
  environment: NodeJS.ProcessEnv,
  onProgress: (line: string) => void,
): Promise<Address> {
  const host = environment.HOST || '127.0.0.1';
  const wish = environment.PORT || undefined;
  if (wish !== undefined && !(/^\d+$/.test(wish) && Number(wish) <= 65_535)) {
    throw new StartError(`PORT must be a whole number between 0 and 65535, and is "${wish}".`);
  }
  let port = Number(wish ?? defaultPort);
  if (port === 0) port = await findFreePort(host);
  else if (await isTaken(port, host)) {
    if (wish !== undefined) throw new StartError(`Port ${port} is taken by another program: set PORT to a free one.`);
    port = await findFreePort(host);
    onProgress(`Port ${defaultPort} is taken by another program; using ${port}.`);
  }
  return { host, port, url: `http://${reachable(host)}:${port}` };
}

async function isTaken(port: number, host: string): Promise<boolean> {
  try {
    return await isPortTaken(port, host);
  } catch (error) {
    throw new StartError(`Cannot listen on ${host}:${port}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}
