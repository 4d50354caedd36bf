import { once } from 'node:events';
import { atFileEnd } from './at-file-end.ts';
import {
  type ProcessRole,
  type ServiceProcess,
  type SpawnOptions,
  spawnService,
  startServiceProcess,
} from './service-process.ts';

export type { ServiceProcess } from './service-process.ts';

/** A process that is to die by a failpoint, maybe before it has said that it is ready. */
export async function runUntilKilled(role: ProcessRole, environment: Record<string, string>): Promise<void> {
  const child = spawnService(role, environment);
  child.stdout?.resume();
  const [, signal] = await once(child, 'exit');
  if (signal !== 'SIGKILL') throw new Error(`the process ended with ${signal}, not by its failpoint`);
}

/** A real process of the built service, which does not outlive the test file. */
export async function startProcess(
  role: ProcessRole,
  environment: Record<string, string>,
  options: SpawnOptions = {},
): Promise<ServiceProcess> {
  const service = await startServiceProcess(role, environment, options);
  atFileEnd(() => service.kill());
  return service;
}
