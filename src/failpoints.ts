/**
 * Places where a fault test may kill, stop, block or fail the process. Without SEMEL_FAILPOINTS each is one empty call.
 * They are the boundaries between two steps that a crash can separate.
 */
export const failpointNames = [
  // The API: the record is committed, its job is not in Redis; the job is in Redis, its outbox row is still there.
  'submit.committed',
  'submit.enqueued',
  // An upload: the file is stored, its mailing is not committed; the mailing is committed, its job is not in Redis.
  'upload.stored',
  'upload.committed',
  // The relay: rows are taken, their jobs are not in Redis; the jobs are in Redis, the rows are still there.
  'relay.claimed',
  'relay.enqueued',
  // The reconciler: a round begins.
  'reconcile.begun',
  // An operation: looked up and locked; claimed, if the claim is a commit of its own; its effect is written and not
  // committed; committed and not cached; cached and told; the job is about to end.
  'run.locked',
  'run.claimed',
  'run.before-commit',
  'run.committed',
  'run.announced',
  'run.before-job-end',
  // An event: its consumer is done, the outbox row is still there.
  'event.consumed',
  // A webhook: taken and not sent; answered and not noted.
  'webhook.claimed',
  'webhook.answered',
  // A mailing: a part of the file is about to be written, under a row lock; it is committed; a mail is claimed and not
  // begun; the server waits for its content; the server has answered and nothing is noted; outcomes are committed.
  'ingest.locked',
  'ingest.written',
  'mail.claimed',
  'mail.data',
  'mail.answered',
  'mail.settled',
  // Housekeeping: the jobs of a batch of expired records are gone, the records are not; the batch is deleted.
  'expiry.jobs-removed',
  'expiry.deleted',
] as const;

export type FailpointName = (typeof failpointNames)[number];

export type HitFailpoint = (name: FailpointName) => void;

/** `name=action` or `name=action@N` (only the Nth time), separated by commas. `block:N` blocks for N milliseconds. */
export const failpointsPattern =
  /^([a-z.-]+=(kill|stop|fail|block:\d+)(@\d+)?)(,[a-z.-]+=(kill|stop|fail|block:\d+)(@\d+)?)*$/;

interface Armed {
  action: string;
  at: number | undefined;
  hits: number;
}

export function createFailpoints(spec: string | undefined): HitFailpoint {
  if (!spec) return () => undefined;
  if (!failpointsPattern.test(spec)) throw new Error(`SEMEL_FAILPOINTS is not name=action[@N],…: ${spec}`);
  const armed = new Map(spec.split(',').map((entry) => parseEntry(entry)));
  return (name) => {
    const point = armed.get(name);
    if (!point) return;
    point.hits += 1;
    if (point.at === undefined || point.at === point.hits) act(name, point.action);
  };
}

function act(name: string, action: string): void {
  if (action === 'kill') process.kill(process.pid, 'SIGKILL');
  else if (action === 'stop') process.kill(process.pid, 'SIGSTOP');
  else if (action === 'fail') throw new Error(`failpoint ${name}`);
  else block(Number(action.slice('block:'.length)));
}

/** As a long computation would: no timer fires and no lock is renewed meanwhile. */
function block(durationMs: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, durationMs);
}

function parseEntry(entry: string): [string, Armed] {
  const [name = '', rest = ''] = entry.split('=');
  const [action = '', at] = rest.split('@');
  if (!failpointNames.some((known) => known === name)) throw new Error(`SEMEL_FAILPOINTS: there is no ${name}`);
  return [name, { action, at: at === undefined ? undefined : Number(at), hits: 0 }];
}
