import { describe, expect, it } from 'vitest';
import { createFailpoints, failpointNames } from '../src/failpoints.ts';
import { listProject, readText } from './support/sources.ts';

describe('failpoints', () => {
  it('do nothing unless they are armed', () => {
    const hit = createFailpoints(undefined);
    for (const name of failpointNames) expect(() => hit(name)).not.toThrow();
  });

  it('act every time, or only the Nth time', () => {
    const hit = createFailpoints('run.locked=fail,run.committed=fail@2');
    expect(() => hit('run.locked')).toThrow('failpoint run.locked');
    expect(() => hit('run.committed')).not.toThrow();
    expect(() => hit('run.committed')).toThrow('failpoint run.committed');
    expect(() => hit('run.committed')).not.toThrow();
  });

  it('block the event loop for as long as they say', () => {
    const startedMs = performance.now();
    createFailpoints('run.locked=block:30')('run.locked');
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(29);
  });

  it('refuse a name that is nowhere in the code', () => {
    expect(() => createFailpoints('run.lokced=kill')).toThrow('there is no run.lokced');
  });

  it('are each hit somewhere in the code', () => {
    const code = listProject('src')
      .filter((path) => path !== 'src/failpoints.ts')
      .map(readText)
      .join('\n');
    expect(failpointNames.filter((name) => !code.includes(`itFailpoint('${name}')`))).toEqual([]);
  });

  it('are each used by a test that kills or stops a process there', () => {
    const tests = listProject('test/faults').map(readText).join('\n');
    expect(failpointNames.filter((name) => !tests.includes(`${name}=`))).toEqual([]);
  });
});
