import { expect, it } from 'vitest';
import { readText } from '../support/sources.ts';
import { clockScenarios } from './scenarios/clocks.ts';
import { postgresScenarios } from './scenarios/postgres.ts';
import { processScenarios } from './scenarios/processes.ts';
import { redisScenarios } from './scenarios/redis.ts';
import { sabotageScenarios } from './scenarios/sabotage.ts';
import { trafficScenarios } from './scenarios/traffic.ts';

const all = [
  ...processScenarios,
  ...redisScenarios,
  ...postgresScenarios,
  ...trafficScenarios,
  ...clockScenarios,
  ...sabotageScenarios,
];

it('every scenario is in the table of the guarantees, which was written by a run, and no other is', () => {
  const [, table = ''] = /<!-- lab: begin -->(.*)<!-- lab: end -->/s.exec(readText('docs/guarantees.md')) ?? [];
  const rows = [...table.matchAll(/^\| (.*?) +\| .* \|$/gm)].map(([, name = '']) => name);
  const named = rows.filter((name) => !/^(scenario|mechanism taken away|-+)$/.test(name));
  expect(named.sort()).toEqual(all.map(({ name }) => name.replace('sabotage: ', '')).sort());
  expect(table).not.toContain('broken**');
});
