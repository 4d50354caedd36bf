import { parseArgs } from 'node:util';
import { StartError } from '../start/start-error.ts';

export interface AuditOptions {
  readonly recordId: string | undefined;
  readonly since: Date | undefined;
  /** Made by an earlier run: an instant, and a digest over the ends of all trails as they were then. */
  readonly seal: { readonly until: Date; readonly digest: string } | undefined;
}

const usage = 'Usage: npm run audit:verify -- [--record ID] [--since 2026-11-18[T08:00:00Z]] [--seal SEAL]';

export function readAuditOptions(args: string[]): AuditOptions {
  const { record, since, seal } = parse(args);
  if (seal !== undefined && (record !== undefined || since !== undefined)) {
    throw new StartError(`A seal covers every trail, so --seal goes with neither --record nor --since.\n${usage}`);
  }
  return {
    recordId: record === undefined ? undefined : readRecordId(record),
    since: since === undefined ? undefined : readInstant(since),
    seal: seal === undefined ? undefined : readSeal(seal),
  };
}

function parse(args: string[]) {
  try {
    const text = { type: 'string' } as const;
    return parseArgs({ args, options: { record: text, since: text, seal: text } }).values;
  } catch (error) {
    throw new StartError(`${error instanceof Error ? error.message : String(error)}\n${usage}`);
  }
}

function readRecordId(text: string): string {
  if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)) return text.toLowerCase();
  throw new StartError(`--record must be the id of an operation, and is "${text}".`);
}

function readInstant(text: string): Date {
  const instant = new Date(text);
  // Before 1970 there are no ids that could be compared.
  if (/^\d{4}-\d\d-\d\d/.test(text) && instant.getTime() >= 0) return instant;
  throw new StartError(`--since must be a date or an instant such as 2026-11-18T08:00:00Z, and is "${text}".`);
}

function readSeal(text: string): { until: Date; digest: string } {
  const [, instant = '', digest = ''] = /^(\d{4}-\d\d-\d\dT[\d:.]+Z)\/([0-9a-f]{64})$/.exec(text) ?? [];
  const until = new Date(instant);
  if (digest !== '' && !Number.isNaN(until.getTime())) return { until, digest };
  throw new StartError(
    '--seal must be a seal as this command prints it: an instant, a slash and 64 hexadecimal digits.',
  );
}
