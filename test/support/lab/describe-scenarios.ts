import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, inject, it } from 'vitest';
import { migrateToLatest } from '../../../src/store/migrate.ts';
import { brokenIn } from '../checker/judge-run.ts';
import { startPrivatePostgres, startPrivateRedis } from '../private-servers.ts';
import { startProcess } from '../processes.ts';
import { root } from '../sources.ts';
import { createTestDatabase } from '../stores.ts';
import { Lab } from './lab.ts';
import type { Scenario, ScenarioResult } from './scenario.ts';

/** Two at a time: they wait more than they work, and a machine of two cores runs two such files at once. */
const atOnce = 2;
/** A scenario takes seconds. This is for one that hangs, on a machine that is busy. */
const timeoutMs = 400_000;

/** Each scenario is a test with stores of its own. What became of it is kept for the table in the documentation. */
export function describeScenarios(group: string, scenarios: readonly Scenario[]): void {
  const results: ScenarioResult[] = [];
  const takeTurn = createTurns(atOnce);
  describe.concurrent(group, () => {
    for (const scenario of scenarios) {
      it(titleOf(scenario), async () => await takeTurn(() => runScenario(scenario, results)), timeoutMs);
    }
  });
  afterAll(() => {
    const folder = join(root, 'node_modules', '.cache', 'semel-lab');
    mkdirSync(folder, { recursive: true });
    const inOrder = scenarios.flatMap(({ name }) => results.filter((result) => result.name === name));
    writeFileSync(join(folder, `${group}.json`), JSON.stringify(inOrder, null, 2));
  });
}

function titleOf({ name, red }: Scenario): string {
  return red ? `${name}: the lab goes red for ${red.join(' and ')}` : name;
}

async function runScenario(scenario: Scenario, results: ScenarioResult[]): Promise<void> {
  const startedMs = Date.now();
  const stores = await openStores(scenario);
  const lab = await Lab.open({
    ...stores,
    environment: scenario.environment,
    proxied: scenario.proxied,
    startProcess,
    seed: startedMs,
    logDir: process.env.SEMEL_LAB_LOGS,
  });
  try {
    await scenario.run(lab);
    await lab.heal();
    // After sabotage some calls may never be answered, so nobody waits for them.
    if (!scenario.red) await lab.finish();
    const verdict = await lab.judge(scenario.patienceMs ? { patienceMs: scenario.patienceMs } : {});
    const broken = brokenIn(verdict);
    results.push({
      name: scenario.name,
      red: scenario.red ?? [],
      broken,
      injected: Object.fromEntries(lab.injected),
      calls: lab.journal.counts.calls,
      answers: lab.journal.counts.answers,
      seconds: Math.round((Date.now() - startedMs) / 100) / 10,
    });
    if (scenario.red)
      expect(broken, JSON.stringify(verdict, null, 2)).toEqual(expect.arrayContaining([...scenario.red]));
    else expect(verdict).toEqual({ E: [], T: [], S: [], R: [], A: [] });
    expect(lab.injected.size, 'something was injected').toBeGreaterThan(0);
    await scenario.expect?.(lab);
  } finally {
    await lab.close();
    await lab.finish().catch(() => undefined);
    await stores.close();
  }
}

async function openStores(scenario: Scenario) {
  const redis = await startPrivateRedis({ persistent: scenario.persistentRedis ?? false });
  const dataDir = join(inject('runDir'), `lab-${randomBytes(6).toString('hex')}`);
  if (!scenario.ownPostgres) {
    const database = await createTestDatabase();
    const close = async () => {
      await redis.stop();
      await database.drop();
    };
    return { databaseUrl: database.url, redis, dataDir, close };
  }
  const postgres = await startPrivatePostgres();
  await migrateToLatest(postgres.url);
  const close = async () => {
    await Promise.all([redis.stop(), postgres.stop()]);
  };
  return { databaseUrl: postgres.url, postgres, redis, dataDir, close };
}

/** Runs so many at once; the others wait for their turn. */
function createTurns(limit: number): <T>(work: () => Promise<T>) => Promise<T> {
  let free = limit;
  const waiting: (() => void)[] = [];
  return async (work) => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else free += 1;
    }
  };
}
