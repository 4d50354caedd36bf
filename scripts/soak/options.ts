import { parseArgs } from 'node:util';
import { StartError } from '../start/start-error.ts';

export interface SoakOptions {
  readonly minutes: number;
  readonly seed: number;
  /** Measures how long recoveries take, instead of the soak. */
  readonly recovery: boolean;
}

const usage = 'Usage: npm run soak -- [--minutes N] [--seed S] | --recovery';

export function readOptions(args: string[]): SoakOptions {
  try {
    const { values } = parseArgs({
      args,
      options: {
        minutes: { type: 'string', default: '5' },
        seed: { type: 'string', default: String(Date.now() % 1_000_000) },
        recovery: { type: 'boolean', default: false },
      },
    });
    const [minutes, seed] = [Number(values.minutes), Number(values.seed)];
    if (minutes > 0 && minutes <= 10_000 && Number.isInteger(seed)) return { minutes, seed, recovery: values.recovery };
  } catch {
    // An unknown flag gets the same line as a bad value.
  }
  throw new StartError(usage);
}
