import { expect, it } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { takeoverOptions } from '../../src/queues/queues.ts';

it('with the default lock, the job of a killed worker is taken over within ten seconds', () => {
  const config = readConfig({ DATABASE_URL: 'postgres://localhost/semel', REDIS_URL: 'redis://localhost' });
  const { lockDuration, stalledInterval } = takeoverOptions(config.LOCK_DURATION_MS);
  expect(lockDuration + stalledInterval).toBeLessThanOrEqual(10_000);
});
