import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { findOrInstallPromtool } from '../../scripts/embedded/find-promtool.ts';

export interface PromtoolResult {
  code: number | null;
  output: string;
}

export async function runPromtool(
  args: readonly string[],
  options: { cwd?: string; input?: string } = {},
): Promise<PromtoolResult> {
  const promtool = spawn(findOrInstallPromtool(), args, { cwd: options.cwd, stdio: 'pipe' });
  promtool.stdin.end(options.input ?? '');
  const [out, error, [code]] = await Promise.all([
    text(promtool.stdout),
    text(promtool.stderr),
    once(promtool, 'close'),
  ]);
  return { code, output: out + error };
}
