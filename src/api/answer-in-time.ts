import { AppError } from '../errors.ts';
import { withDeadline } from '../store/deadline.ts';

/** A database that hangs is answered like one that is away: with 503, in under two seconds. */
const readTimeoutMs = 1_800;

export async function answerInTime<T>(work: Promise<T>): Promise<T> {
  return await withDeadline(work, readTimeoutMs, () => {
    return new AppError('UNAVAILABLE', 'The database did not answer in time. Try again.');
  });
}
