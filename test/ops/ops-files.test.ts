import { randomUUID } from 'node:crypto';
import { cp, mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { csvOf, mailingWith, newMailing } from '../support/mailings.ts';
import { parseMetrics, scrape } from '../support/metrics.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { readText, root } from '../support/sources.ts';
import { type Selector, selectorsOf } from './promql.ts';
import { runPromtool } from './promtool.ts';

interface Rule {
  alert: string;
  expr: string;
  labels: { severity: string };
  annotations: { summary: string; description: string; runbook: string };
}

const rulesFile = 'ops/prometheus/alerts.yml';
const testsFile = 'ops/prometheus/alerts.test.yml';
const rules: Rule[] = parse(readText(rulesFile)).groups.flatMap((group: { rules: Rule[] }) => group.rules);
const runbook = readText('docs/operations.md');

let service: TestService;
let scraped: string;

/** Enough traffic that every metric has a sample. */
beforeAll(async () => {
  service = await startTestService({ environment: { WAIT_SECONDS: '30' } });
  const key = randomUUID();
  for (let time = 0; time < 2; time += 1) await service.api.openAccount(1, {}, { key });
  await mailingWith(service.api, await newMailing(service.api, csvOf(1)), 'COMPLETED');
  scraped = await scrape(service.api);
});

afterAll(() => service.close());

/** What Prometheus adds to what it scrapes. */
const added = ['job', 'instance'];
const ofPrometheus = new Set(['up', 'ALERTS']);

/** Selectors whose metric is not in the scrape, or has not the labels that are asked for. */
function findUnknown(selectors: readonly Selector[]): string[] {
  const labelsOf = new Map<string, Set<string>>();
  for (const { name, labels } of parseMetrics(scraped)) {
    const known = labelsOf.get(name) ?? new Set(added);
    for (const label of Object.keys(labels)) known.add(label);
    labelsOf.set(name, known);
  }
  return selectors
    .filter(({ metric }) => !ofPrometheus.has(metric))
    .flatMap(({ metric, labels }) => {
      const known = labelsOf.get(metric);
      if (!known) return [metric];
      return labels.filter((label) => !known.has(label)).map((label) => `${metric}{${label}}`);
    });
}

describe('the metrics', () => {
  it('are named and described as Prometheus wants it', async () => {
    expect(await runPromtool(['check', 'metrics'], { input: scraped })).toEqual({ code: 0, output: '' });
  });
});

describe('the alerts', () => {
  it('are valid rules', async () => {
    const { code, output } = await runPromtool(['check', 'rules', rulesFile], { cwd: root });
    expect({ code, output }).toMatchObject({ code: 0, output: expect.stringContaining(`${rules.length} rules found`) });
  });

  it('fire and stay silent as their tests say', async () => {
    const { code, output } = await runPromtool(['test', 'rules', testsFile], { cwd: root });
    expect(code, output).toBe(0);
  });

  it('each have series with which they fire and series with which they do not', () => {
    type Test = { promql_expr_test: { expr: string; exp_samples: unknown[] }[] };
    const tests = (parse(readText(testsFile)).tests as Test[]).flatMap((test) => test.promql_expr_test);
    const tested = (isFiring: boolean) =>
      tests
        .filter(({ exp_samples }) => exp_samples.length > 0 === isFiring)
        .map(({ expr }) => /alertname="(\w+)",alertstate="firing"/.exec(expr)?.[1]);
    const names = rules.map(({ alert }) => alert).sort();
    expect([...new Set(tested(true))].sort()).toEqual(names);
    expect([...new Set(tested(false))].sort()).toEqual(names);
  });

  it('would not pass their tests if one of them never fired', async () => {
    const folder = await mkdtemp(join(inject('runDir'), 'rules-'));
    await cp(join(root, 'ops', 'prometheus'), folder, { recursive: true });
    const broken = parse(readText(rulesFile));
    broken.groups[0].rules[0].expr = 'vector(0) > 1';
    await writeFile(join(folder, 'alerts.yml'), stringify(broken));
    const { code, output } = await runPromtool(['test', 'rules', 'alerts.test.yml'], { cwd: folder });
    expect({ code, output }).toMatchObject({ code: 1, output: expect.stringContaining('FAILED') });
  });

  it('ask for metrics and labels that there are', () => {
    expect(findUnknown(rules.flatMap(({ expr }) => selectorsOf(expr)))).toEqual([]);
    expect(findUnknown(selectorsOf('max by (nothing) (no_such_metric) / dead_letters{colour="red"}'))).toEqual([
      'no_such_metric',
      'dead_letters{colour}',
      'dead_letters{nothing}',
    ]);
  });

  it('each have a section in the runbook, to which they point, and there is no other', () => {
    const sections = [...runbook.matchAll(/^### (Semel\w+)$/gm)].map(([, alert]) => alert);
    expect(sections.sort()).toEqual(rules.map(({ alert }) => alert).sort());
    for (const { alert, annotations, labels } of rules) {
      expect(annotations.runbook, alert).toBe(`docs/operations.md#${alert.toLowerCase()}`);
      expect(['critical', 'warning'], alert).toContain(labels.severity);
      expect(
        Object.values(annotations).every((text) => text.length > 0),
        alert,
      ).toBe(true);
    }
  });

  it.each(rules.map(({ alert }) => alert))(
    'the section of %s says what it means, how to look and what to do',
    (alert) => {
      const [, section = ''] = new RegExp(`^### ${alert}$(.*?)(?=^##|(?![\\s\\S]))`, 'ms').exec(runbook) ?? [];
      for (const part of ['**It means**', '**Look**', '**Do**']) expect(section).toContain(part);
    },
  );
});

describe('the example of a configuration', () => {
  it('is valid, and scrapes the jobs that the alerts speak of', async () => {
    const folder = await mkdtemp(join(inject('runDir'), 'prometheus-'));
    await cp(join(root, 'ops', 'prometheus'), folder, { recursive: true });
    await writeFile(join(folder, 'semel-api-key'), 'a-key');
    const { code, output } = await runPromtool(['check', 'config', 'prometheus.yml'], { cwd: folder });
    expect(code, output).toBe(0);
    const jobs = parse(readText('ops/prometheus/prometheus.yml')).scrape_configs.map(
      (config: { job_name: string }) => config.job_name,
    );
    expect(jobs).toEqual(['semel-api', 'semel-worker']);
  });
});

describe('the dashboard', () => {
  interface Panel {
    id: number;
    title: string;
    type: string;
    description?: string;
    targets?: { expr: string; legendFormat: string }[];
    gridPos: { x: number; y: number; w: number; h: number };
  }
  const panels: Panel[] = JSON.parse(readText('ops/grafana/semel.json')).panels;
  const queries = panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr, legendFormat }) => ({ title, expr, legendFormat })),
  );

  it('asks for metrics and labels that there are', () => {
    expect(queries.length).toBeGreaterThan(30);
    expect(findUnknown(queries.flatMap(({ expr }) => selectorsOf(expr)))).toEqual([]);
  });

  it('shows every metric that the contract names', () => {
    const shown = new Set(
      queries.flatMap(({ expr }) => selectorsOf(expr)).map(({ metric }) => metric.replace(/_(bucket|count)$/, '')),
    );
    const own = [...scraped.matchAll(/^# TYPE (\w+) /gm)]
      .map(([, name = '']) => name)
      .filter((name) => !/^(nodejs|process)_/.test(name));
    expect(own.filter((name) => !shown.has(name))).toEqual([]);
  });

  it('has queries that Prometheus understands', async () => {
    const folder = await mkdtemp(join(inject('runDir'), 'dashboard-'));
    const recorded = queries.map(({ expr }, index) => ({
      record: `query_${index}`,
      expr: expr.replaceAll('$__rate_interval', '5m'),
    }));
    await writeFile(join(folder, 'queries.yml'), stringify({ groups: [{ name: 'dashboard', rules: recorded }] }));
    const { code, output } = await runPromtool(['check', 'rules', '--lint=none', 'queries.yml'], { cwd: folder });
    expect(code, output).toBe(0);
  });

  it('names in its legends only labels that its queries keep', () => {
    const wrong = queries.filter(({ expr, legendFormat }) => {
      const wanted = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = '']) => label);
      const kept = [...expr.matchAll(/\bby\s*\(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(/,\s*/));
      return wanted.some((label) => !kept.includes(label) && !added.includes(label));
    });
    expect(wrong).toEqual([]);
  });

  it('has panels that do not overlap, each with an id of its own and a word about it', () => {
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    expect(panels.filter(({ type, description }) => type !== 'row' && !description)).toEqual([]);
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, index) => `${x + (index % w)}:${y + Math.floor(index / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    expect(Math.max(...panels.map(({ gridPos: { x, w } }) => x + w))).toBeLessThanOrEqual(24);
  });
});
