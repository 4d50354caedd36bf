import type { Logger } from 'pino';
import { AppError } from '../errors.ts';
import { GroupedCalls } from '../store/grouped-calls.ts';
import { type GroupSubmitted, type Submission, toError } from './submission.ts';
import type { Submitter } from './submit.ts';

type Taken = (GroupSubmitted | Error)[];

/**
 * The way in for many submissions at once. It is apart from that of single ones, which must not stand in line behind a
 * file: lines of all bulk requests together have a few groups under way, and the others wait for their turn.
 */
export class BulkLane {
  readonly #submitter: Submitter;
  readonly #log: Logger;
  readonly #groups: GroupedCalls<readonly Submission[], Taken>;

  constructor(submitter: Submitter, log: Logger) {
    this.#submitter = submitter;
    this.#log = log;
    this.#groups = new GroupedCalls({
      run: (batches) => this.#run(batches),
      sizeOf: (batch) => batch.length,
      // Larger groups are hardly faster, and hold up whoever shares Postgres and Redis with them.
      maxGroupSize: 500,
      // While one group commits, another one is on its way to Redis, and a third is being written.
      concurrency: 3,
    });
  }

  /** What became of each, in their order. It does not throw: a failure that concerns all is there for each. */
  async submit(submissions: readonly Submission[]): Promise<Taken> {
    return submissions.length === 0 ? [] : await this.#groups.call(submissions);
  }

  async #run(batches: readonly (readonly Submission[])[]): Promise<Taken[]> {
    const taken = await this.#take(batches.flat());
    let start = 0;
    return batches.map(({ length }) => {
      start += length;
      return taken.slice(start - length, start);
    });
  }

  async #take(submissions: readonly Submission[]): Promise<Taken> {
    try {
      return await this.#submitter.submitGroup(submissions);
    } catch (error) {
      this.#log.warn({ err: error, lines: submissions.length }, 'lines were not taken together');
      if (error instanceof AppError && error.code === 'UNAVAILABLE') return submissions.map(() => error);
      // One of them may be at fault, and must not stop the others.
      return await Promise.all(submissions.map((each) => this.#submitAlone(each)));
    }
  }

  async #submitAlone(submission: Submission): Promise<GroupSubmitted | Error> {
    const [taken] = await this.#submitter.submitGroup([submission]).catch((error: unknown) => [toError(error)]);
    return taken ?? new Error('nothing became of a submission');
  }
}
