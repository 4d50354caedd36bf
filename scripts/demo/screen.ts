import { styleText } from 'node:util';

export type Colour = 'green' | 'red' | 'yellow' | 'cyan' | 'dim' | 'bold';

export interface Screen {
  /** A heading: what is done next. */
  step(title: string): void;
  say(line: string): void;
  /** How far something is. It moves on a terminal; elsewhere every change would be a line, so there is none. */
  progress(label: string, done: number, total: number): void;
  paint(colour: Colour, text: string): string;
}

const barWidth = 30;
const eraseLine = '\r\u001b[K';

/** Colours and a moving bar on a terminal, plain lines everywhere else. */
export function createScreen(stream: NodeJS.WriteStream, environment: NodeJS.ProcessEnv): Screen {
  const isTerminal = stream.isTTY === true && environment.TERM !== 'dumb';
  // Any value but the empty one turns colours off, as no-color.org has it.
  const hasColour = isTerminal && !environment.NO_COLOR;
  const paint = (colour: Colour, text: string): string =>
    hasColour ? styleText(colour, text, { validateStream: false }) : text;
  let startedMs = 0;
  let steps = 0;
  let hasBar = false;

  const write = (line: string): void => {
    stream.write(`${hasBar ? eraseLine : ''}${line}\n`);
    hasBar = false;
  };
  return {
    paint,
    step: (title) => {
      // From the first step on: what was installed and built before that is done once.
      if (steps === 0) startedMs = performance.now();
      steps += 1;
      const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1);
      write(`\n${paint('bold', `${steps}. ${title}`)} ${paint('dim', `(${seconds} s)`)}`);
    },
    say: (line) => write(`   ${line}`),
    progress: (label, done, total) => {
      if (!isTerminal) return;
      const filled = Math.round((Math.min(done, total) / total) * barWidth);
      const bar = `${paint('green', '█'.repeat(filled))}${paint('dim', '░'.repeat(barWidth - filled))}`;
      stream.write(`${eraseLine}   ${bar} ${formatCount(done)} of ${formatCount(total)} ${label}`);
      hasBar = true;
    },
  };
}

/** 2000 as 2 000, with a space that does not break. */
export function formatCount(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, '\u00a0');
}
