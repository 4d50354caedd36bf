import type { BenchProcess } from '../processes.ts';
import { askProcess } from './ask-process.ts';
import type { SinkCount, SinkQuestion } from './protocol.ts';

const askSink = (sink: BenchProcess, ask: SinkQuestion['ask']): Promise<SinkCount> =>
  askProcess<SinkQuestion, SinkCount>(sink, { ask });

export async function readMailUrl(sink: BenchProcess): Promise<string> {
  return `smtp://127.0.0.1:${(await askSink(sink, 'port')).port}`;
}

export async function forgetMails(sink: BenchProcess): Promise<void> {
  await askSink(sink, 'forget');
}

/** Throws unless each of `expected` mails came, and came once. */
export async function checkMails(sink: BenchProcess, sender: string, expected: number): Promise<void> {
  const { mails, ids } = await askSink(sink, 'count');
  if (mails === expected && ids === expected) return;
  throw new Error(`WRONG: ${sender} was to send ${expected} mails; ${mails} came, with ${ids} different Message-IDs.`);
}
