import { createMetrics, type Metrics } from '../../src/metrics.ts';
import { operations } from '../../src/processors/registry.ts';
import type { Api } from './api.ts';

/** For parts that report, in tests that do not look at what they report. */
export function testMetrics(): Metrics {
  return createMetrics({ operations: operations.map(({ name }) => name), servesApi: true, runsJobs: true });
}

export interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

/** Every sample of a scrape. */
export function parseMetrics(text: string): Sample[] {
  return text.split('\n').flatMap((line) => {
    const [, name, labels = '', value] = /^([a-zA-Z_:]\w*)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
    if (name === undefined) return [];
    const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, key = '', text = '']) => [key, text]);
    return [{ name, labels: Object.fromEntries(pairs), value: Number(value?.replace('Nan', 'NaN')) }];
  });
}

/** The values of a metric whose labels include these, summed up; undefined if there is none. */
export function sumOf(text: string, name: string, labels: Record<string, string> = {}): number | undefined {
  const found = parseMetrics(text).filter(
    (sample) => sample.name === name && Object.entries(labels).every(([key, value]) => sample.labels[key] === value),
  );
  return found.length === 0 ? undefined : found.reduce((sum, { value }) => sum + value, 0);
}

export async function scrape(api: Api): Promise<string> {
  const answer = await api.get('/metrics');
  if (answer.status !== 200) throw new Error(`/metrics answered ${answer.status}: ${answer.text}`);
  return answer.text;
}
