import type { Client } from 'pg';
import { withClient } from '../accounts.ts';
import type { Rate } from '../measure.ts';
import type { BenchOptions } from '../options.ts';
import { type BenchSystems, newPrefix, type Round, runRounds } from '../scenarios.ts';
import { mailConnections } from '../systems.ts';
import { askProcess } from './ask-process.ts';
import { measureRate } from './measure-rate.ts';
import { makePeople, toCsv } from './people.ts';
import type { PoolPlan, Timed } from './protocol.ts';
import { partsOf } from './run-ingest.ts';
import { removeMailings, uploadFile, waitForMailing } from './run-mailing.ts';
import { checkMails, forgetMails, readMailUrl } from './sink-count.ts';

export interface SendingResult {
  readonly title: string;
  readonly target: number;
  readonly rounds: readonly Round<Rate>[];
}

// About five seconds of work for either side.
const measuredMails = 10_000;
// What is compiled by then is most of it.
const warmupMails = 3_000;

/** Sends mails to a sink, each entry claimed and settled in Postgres, against nodemailer's pool alone. */
export async function runSending(systems: BenchSystems, options: BenchOptions): Promise<SendingResult> {
  const { processes, sink } = systems;
  const pool = await processes.startScript('mail-pool', 'baselines/mail-pool.ts');
  const mailUrl = await readMailUrl(sink);
  const sendAlone = (mails: number): Promise<Timed> =>
    askProcess<PoolPlan, Timed>(pool, { mailUrl, prefix: newPrefix(), mails, connections: mailConnections });
  const poolParts = new Map([
    ['pool', pool.pid],
    ['sink', sink.pid],
  ]);
  return await withClient(systems.databaseUrl, async (client) => {
    await sendAlone(warmupMails);
    await sendThroughSemel(systems, client, warmupMails);
    await removeMailings(client);
    const rounds = await runRounds(options, async () => {
      await forgetMails(sink);
      const baseline = await measureRate('nodemailer', poolParts, () => sendAlone(measuredMails));
      await checkMails(sink, 'nodemailer', measuredMails);
      await forgetMails(sink);
      const semelParts = new Map([...partsOf(systems), ['sink', sink.pid]]);
      const semel = await measureRate('Semel', semelParts, () => sendThroughSemel(systems, client, measuredMails));
      await checkMails(sink, 'Semel', measuredMails);
      await removeMailings(client);
      return { baseline, semel };
    });
    return { title: `sending, ${measuredMails} mails over ${mailConnections} connections`, target: 0.7, rounds };
  });
}

async function sendThroughSemel(systems: BenchSystems, client: Client, mails: number): Promise<Timed> {
  const prefix = newPrefix();
  const id = await uploadFile(systems.semel, { name: `${prefix}.csv`, content: toCsv(makePeople(prefix, mails)) });
  const { sendMs, sent } = await waitForMailing(client, id, (row) => row.status === 'COMPLETED');
  if (sent !== mails) throw new Error(`WRONG: of ${mails} mails, Semel says that ${sent} were sent.`);
  return { count: sent, tookMs: sendMs ?? Number.NaN };
}
