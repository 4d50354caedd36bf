import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/support/longest-first.ts';
import { CountsReporter } from './test/support/reporter.ts';
import { listProject, readText } from './test/support/sources.ts';

/** They replace a module, which would hold for the files after them as well. */
const mocking = listProject('test').filter((path) => path.endsWith('.test.ts') && readText(path).includes('vi.mock('));
export default defineConfig({
  test: {
    setupFiles: ['test/support/tidy-up.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    reporters: ['default', new CountsReporter()],
    // Processes and not threads: the tests send signals and spawn services.
    pool: 'forks',
    // One more than there are cores: many tests wait most of the time, for example for a lock that has to expire.
    maxWorkers: 1 + Math.max(2, availableParallelism()),
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        extends: true,
        // One process takes one file after the other: loading the service takes longer than most files take. What a file
        // leaves behind is checked for each of them.
        test: { name: 'together', include: ['test/**/*.test.ts'], exclude: mocking, isolate: false },
      },
      { extends: true, test: { name: 'mocking', include: mocking } },
    ],
    // A takeover of a dead worker's job takes ten seconds by design, and some tests watch several.
    testTimeout: 60_000,
    // Hooks start databases and services; on a machine of two busy cores that may take long.
    hookTimeout: 120_000,
    // A test that passes only sometimes has found something.
    retry: 0,
  },
});
