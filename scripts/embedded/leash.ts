import { spawn } from 'node:child_process';
import { Socket } from 'node:net';

// `read` sees the end of its input when our process is gone, however it ended, kill -9 included. The five seconds
// are what a healthy server needs to stop; one that is paused or stuck is then killed.
const script = `
while read -r _; do :; done
kill -s "$2" "$1" 2>/dev/null || exit 0
i=0
while [ "$i" -lt 50 ] && kill -0 "$1" 2>/dev/null; do sleep 0.1; i=$((i + 1)); done
kill -s KILL "$1" 2>/dev/null
`;

/** Ends the process `pid` once this process is gone. Returns a function that lets go of it. */
export function leash(pid: number, signal: 'INT' | 'QUIT' | 'TERM' | 'KILL'): () => void {
  const holder = spawn('/bin/sh', ['-c', script, 'semel-leash', String(pid), signal], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  holder.unref();
  if (holder.stdin instanceof Socket) holder.stdin.unref();
  return () => {
    holder.kill('SIGKILL');
    holder.stdin.destroy();
  };
}
