import { parseArgs } from 'node:util';
import { StartError } from '../start/start-error.ts';

export const scenarioNames = [
  'new-64',
  'new-256',
  'replays',
  'enqueue',
  'bulk',
  'ingest',
  'sending',
  'cleanup',
] as const;
export type ScenarioName = (typeof scenarioNames)[number];

export interface BenchOptions {
  readonly seconds: number;
  readonly rounds: number;
  readonly scenarios: readonly ScenarioName[];
  /** Where Semel's processes write a CPU profile each when they end. */
  readonly profileDir: string | undefined;
}

const usage = `Usage: npm run bench -- [--seconds N] [--rounds N] [--only ${scenarioNames.join('|')}] [--profile FOLDER]`;

/** The defaults are the shortest run whose ratios repeat: about four minutes in all. */
export function readOptions(args: string[]): BenchOptions {
  const { seconds, rounds, only, profile } = parse(args);
  return {
    seconds: readNumber(seconds, 1, 600),
    rounds: readNumber(rounds, 1, 100),
    scenarios: scenarioNames.filter((name) => only === undefined || name === only || name.split('-')[0] === only),
    profileDir: profile,
  };
}

function parse(args: string[]) {
  try {
    const { values } = parseArgs({
      args,
      options: {
        seconds: { type: 'string', default: '5' },
        rounds: { type: 'string', default: '3' },
        only: { type: 'string' },
        profile: { type: 'string' },
      },
    });
    const { only } = values;
    if (only === undefined || scenarioNames.some((name) => name === only || name.split('-')[0] === only)) return values;
  } catch {
    // An unknown flag gets the same line as an unknown name.
  }
  throw new StartError(usage);
}

function readNumber(text: string, min: number, max: number): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < min || value > max) throw new StartError(usage);
  return value;
}
