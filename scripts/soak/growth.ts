import { readdirSync, readFileSync } from 'node:fs';
import type { Lab } from '../../test/support/lab/lab.ts';
import type { ServiceProcess } from '../../test/support/service-process.ts';

/** What must not grow without end, as it stands once everything has settled. */
export interface Size {
  what: string;
  value: number;
  unit: 'MB' | 'open files' | 'rows' | 'bytes';
}

/** The last figure may be so many times the first one, and so much more. Generous: this is about leaks, not about taste. */
const bounds: Record<Size['unit'], { times: number; plus: number }> = {
  MB: { times: 2, plus: 150 },
  'open files': { times: 1.5, plus: 50 },
  rows: { times: 1, plus: 0 },
  bytes: { times: 2, plus: 2_000 },
};

export async function measureSizes(lab: Lab, survivors: readonly ServiceProcess[]): Promise<Size[]> {
  const processes = survivors.flatMap(({ pid, role }): Size[] => [
    { what: `memory of the ${role} that is spared`, value: readMemoryMb(pid), unit: 'MB' },
    {
      what: `open files of the ${role} that is spared`,
      value: readdirSync(`/proc/${pid}/fd`).length,
      unit: 'open files',
    },
  ]);
  const { rows } = await lab.db.query<{ outbox: string; bytes: string; records: string; outbox_bytes: string }>(
    `select (select count(*) from outbox) as outbox, (select count(*) from records) as records,
      pg_database_size(current_database()) as bytes, pg_total_relation_size('outbox') as outbox_bytes`,
  );
  const [row] = rows;
  const memory = /used_memory:(\d+)/.exec(await lab.redis.info('memory'))?.[1];
  return [
    ...processes,
    { what: 'memory of Redis', value: toMb(Number(memory)), unit: 'MB' },
    { what: 'rows in the outbox', value: Number(row?.outbox), unit: 'rows' },
    { what: 'size of the outbox', value: toMb(Number(row?.outbox_bytes)), unit: 'MB' },
    { what: 'database, for each record', value: Math.round(Number(row?.bytes) / Number(row?.records)), unit: 'bytes' },
  ];
}

/** What has grown beyond its bounds. */
export function findGrowth(first: readonly Size[], last: readonly Size[]): string[] {
  return first.flatMap((before, index) => {
    const after = last[index];
    const { times, plus } = bounds[before.unit];
    if (!after || after.value <= before.value * times + plus) return [];
    return [`${before.what}: ${before.value} ${before.unit}, then ${after.value}`];
  });
}

function readMemoryMb(pid: number): number {
  const [, kilobytes] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Math.round(Number(kilobytes) / 1024);
}

function toMb(bytes: number): number {
  return Math.round(bytes / 1024 / 102.4) / 10;
}
