import type { BeforeHook } from '@bull-board/api/typings/app';

/**
 * What may be done by hand. Each of these concerns one job and costs work, not truth: a settled record is not run again,
 * and a job that somebody needs comes back. Everything else is refused: adding or changing jobs, pausing and limiting
 * queues, changing schedules, and whatever goes through all jobs of a queue at once.
 */
const allowedActions = new Set([
  'put /api/queues/:queueName/:jobId/retry',
  'put /api/queues/:queueName/:jobId/clean',
  'put /api/queues/:queueName/:jobId/promote',
  'put /api/queues/:queueName/job-schedulers/:schedulerId/run',
  // A queue that was paused by other means can be set going again.
  'put /api/queues/:queueName/resume',
  'put /api/queues/resume',
]);

const refusal =
  'This is off here, because it would touch all jobs of a queue or something that Semel keeps in order itself. ' +
  'One job at a time can be retried, promoted or removed.';

/** The most that the page itself lets a person choose. */
const maxJobsPerPage = 300;

/** Decides before Bull Board does anything. */
export const allowAction: BeforeHook = ({ method, route, request }) => {
  if (method === 'get') {
    const { activeQueue, queueName, jobsPerPage = 0 } = request.query;
    const isSound = [activeQueue, queueName].every(isDecodable) && Number(jobsPerPage) <= maxJobsPerPage;
    return isSound ? { allow: true } : { allow: false, status: 400 };
  }
  if (allowedActions.has(`${method} ${route}`)) return { allow: true };
  return { allow: false, status: 403, message: refusal };
};

/** Bull Board decodes these names once more, and would fail on what cannot be. */
function isDecodable(name: unknown): boolean {
  if (typeof name !== 'string') return name === undefined;
  try {
    decodeURIComponent(name);
    return true;
  } catch {
    return false;
  }
}
