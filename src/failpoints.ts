/**
 * Places where a fault test may kill, stop or fail the process. Without SEMEL_FAILPOINTS each is one empty call.
 */
export type FailpointName =
  | 'submit.committed'
  | 'submit.enqueued'
  | 'relay.enqueued'
  | 'run.claimed'
  | 'run.before-commit'
  | 'run.committed'
  | 'run.before-job-end'
  | 'ingest.written'
  | 'mail.claimed'
  | 'mail.answered'
  | 'mail.settled';

export type HitFailpoint = (name: FailpointName) => void;

const actions: Record<string, (name: string) => void> = {
  kill: () => process.kill(process.pid, 'SIGKILL'),
  stop: () => process.kill(process.pid, 'SIGSTOP'),
  fail: (name) => {
    throw new Error(`failpoint ${name}`);
  },
};

/** Reads `name=action` or `name=action@N` (only the Nth time), separated by commas. */
export function createFailpoints(spec: string | undefined): HitFailpoint {
  if (!spec) return () => undefined;
  const armed = new Map(spec.split(',').map((entry) => parseEntry(entry)));
  return (name) => {
    const point = armed.get(name);
    if (!point) return;
    point.hits += 1;
    if (point.at === undefined || point.at === point.hits) actions[point.action]?.(name);
  };
}

function parseEntry(entry: string): [string, { action: string; at: number | undefined; hits: number }] {
  const match = /^([a-z.-]+)=(kill|stop|fail)(?:@(\d+))?$/.exec(entry.trim());
  if (!match) throw new Error(`SEMEL_FAILPOINTS has an entry that is not name=kill|stop|fail[@N]: ${entry}`);
  return [match[1] ?? '', { action: match[2] ?? '', at: match[3] ? Number(match[3]) : undefined, hits: 0 }];
}
