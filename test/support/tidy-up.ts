import { readdirSync, readFileSync } from 'node:fs';
import { afterAll } from 'vitest';
import { endFile } from './at-file-end.ts';
import { eventually } from './eventually.ts';

// Loaded before every test file, hence run after the file's own clean-up: nothing that it started outlives it.
afterAll(async () => {
  await endFile();
  // A process that was told to end may need a moment; one that is there after five seconds was forgotten.
  await eventually(
    () => {
      const left = listChildren();
      if (left.length > 0) throw new Error(`This test file leaves processes behind: ${left.join('; ')}`);
    },
    { timeoutMs: 5_000 },
  );
});

/** The commands of this process's living children, where the system can tell. */
function listChildren(): string[] {
  if (process.platform !== 'linux') return [];
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .flatMap((pid) => {
      try {
        const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
        const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
        if (Number(parent) !== process.pid || state === 'Z') return [];
        return [readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim()];
      } catch {
        // It ended while we looked.
        return [];
      }
    });
}
