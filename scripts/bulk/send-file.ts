import { CsvError } from '../../src/processors/mailings/csv/csv-error.ts';
import { StartError } from '../start/start-error.ts';
import { toBatches } from './batches.ts';
import type { Counts } from './counts.ts';
import { type Delivery, deliver, type Refusal } from './deliver.ts';
import type { RefusedFile } from './refused-file.ts';
import type { Row, RowSource } from './row.ts';

export interface SendParts {
  readonly source: RowSource;
  readonly counts: Counts;
  readonly refusedFile: RefusedFile;
  readonly concurrency: number;
  readonly stop: AbortSignal;
  /** Sends rows and says what became of each. False means that there is no sense in going on. */
  readonly send: (rows: readonly Row[], onRefusal: (refusal: Refusal) => void) => Promise<boolean>;
}

/** Whether all of the file was sent, and why not. */
export type Ending = 'whole' | 'stopped' | 'gave up' | { readonly because: string };

/**
 * Several batches at a time, each read when one before it is done: memory does not grow with the file. Refused rows are
 * written in the order of the file all the same.
 */
export async function sendFile(parts: SendParts): Promise<Ending> {
  const batches = toBatches(parts.source.rows);
  let written: Promise<void> = Promise.resolve();
  let ending: Ending = 'whole';
  const work = async (): Promise<void> => {
    while (ending === 'whole' && !parts.stop.aborted) {
      const { value: batch, done } = await nextOf(batches);
      if (done || batch === undefined) return;
      const turn = written;
      let end = () => {};
      written = new Promise((resolve) => {
        end = resolve;
      });
      const { refusals, hindrance } = await handle(parts, batch);
      if (hindrance) ending = hindrance;
      await turn;
      await parts.refusedFile.add(refusals).finally(end);
    }
  };
  const nextOf = async (iterator: AsyncGenerator<Row[]>) => {
    try {
      return await iterator.next();
    } catch (error) {
      if (!(error instanceof CsvError)) throw error;
      ending = { because: `The file cannot be read on. ${error.message}` };
      return { value: undefined, done: true };
    }
  };
  await Promise.all(Array.from({ length: parts.concurrency }, work));
  return parts.stop.aborted ? 'stopped' : ending;
}

async function handle(
  { counts, send }: SendParts,
  batch: readonly Row[],
): Promise<{ refusals: Refusal[]; hindrance: Ending | undefined }> {
  const refusals: Refusal[] = [];
  const sound: Row[] = [];
  for (const row of batch) {
    counts.rows += 1;
    if (row.fault === undefined) {
      counts.note(row);
      sound.push(row);
    } else {
      counts.refused += 1;
      refusals.push({ row, code: 'UNREADABLE_ROW', reason: row.fault });
    }
  }
  let hindrance: Ending | undefined;
  try {
    if (!(await send(sound, (refusal) => refusals.push(refusal)))) hindrance = 'gave up';
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    hindrance = { because: error.message };
  }
  return { refusals: refusals.sort((a, b) => a.row.line - b.row.line), hindrance };
}

/** Over the network, with retries. */
export function toService(
  delivery: Pick<Delivery, 'service' | 'operation' | 'patienceMs' | 'stop' | 'onWait'>,
  counts: Counts,
): SendParts['send'] {
  return async (rows, onRefusal) =>
    await deliver(
      {
        ...delivery,
        onTaken: (_, isNew) => {
          if (isNew) counts.created += 1;
          else counts.replayed += 1;
        },
        onRefused: (refusal) => {
          counts.refused += 1;
          onRefusal(refusal);
        },
        onFailed: (refusal) => {
          counts.failed += 1;
          onRefusal(refusal);
        },
      },
      rows,
    );
}

export function explain(ending: Ending): string | undefined {
  if (ending === 'whole') return undefined;
  if (ending === 'gave up') return 'Gave up: nothing could be sent any more. Run it again later; nothing is repeated.';
  if (ending === 'stopped') return 'Stopped. Run it again to send the rest; nothing is repeated.';
  return ending.because;
}
