import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { CountsReporter } from './test/support/reporter.ts';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    reporters: ['default', new CountsReporter()],
    // Processes and not threads: the tests send signals and spawn services.
    pool: 'forks',
    // Two at least, so that files which mostly wait do not hold up the others.
    maxWorkers: Math.max(2, availableParallelism()),
    // A takeover of a dead worker's job takes ten seconds by design, and some tests watch several.
    testTimeout: 60_000,
    // Hooks start databases and services; on a machine of two busy cores that may take long.
    hookTimeout: 120_000,
    // A test that passes only sometimes has found something.
    retry: 0,
  },
});
