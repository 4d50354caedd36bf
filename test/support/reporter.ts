import type { Reporter, TestModule } from 'vitest/node';

/** Ends the output with one plain line of counts, for people and for programs that read it. */
export class CountsReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    const counts = { passed: 0, failed: unhandledErrors.length, skipped: 0 };
    for (const testModule of modules) {
      for (const test of testModule.children.allTests()) {
        const { state } = test.result();
        if (state !== 'pending') counts[state] += 1;
      }
      // A file or a suite that fails outside its tests, in a hook or while it is read, is a failure too.
      if (testModule.errors().length > 0) counts.failed += 1;
      for (const suite of testModule.children.allSuites()) if (suite.errors().length > 0) counts.failed += 1;
    }
    const line = `${counts.passed} passed, ${counts.failed} failed${counts.skipped > 0 ? `, ${counts.skipped} skipped` : ''}`;
    // The default reporter writes its summary in the same event; at exit nothing comes after this.
    process.once('exit', () => process.stdout.write(`${line}\n`));
  }
}
