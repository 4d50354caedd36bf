import type { WriteStream } from 'node:tty';

export interface ProgressView {
  /** From 0 to 1. */
  readonly share: number;
  readonly rows: number;
  readonly refused: number;
  /** What is being waited for, if anything. */
  readonly waitingFor: string | undefined;
}

/** Often enough to look alive on a terminal, and seldom enough for a log. */
const drawMs = 100;
const lineMs = 5_000;
const barWidth = 24;

/** Shows how far it is: a bar on a terminal, plain lines elsewhere. */
export class Progress {
  readonly #out: Pick<WriteStream, 'write' | 'isTTY' | 'columns'>;
  readonly #view: () => ProgressView;
  readonly #timer: NodeJS.Timeout;
  readonly #startedMs = performance.now();
  #last = { ms: performance.now(), rows: 0 };
  #perSecond = 0;

  constructor(out: Pick<WriteStream, 'write' | 'isTTY' | 'columns'>, view: () => ProgressView) {
    this.#out = out;
    this.#view = view;
    this.#timer = setInterval(() => this.#draw(), out.isTTY ? drawMs : lineMs);
    // It must not be what keeps us running.
    this.#timer.unref();
  }

  end(): void {
    clearInterval(this.#timer);
    if (this.#out.isTTY) this.#out.write('\r\u001b[K');
  }

  #draw(): void {
    const view = this.#view();
    this.#measure(view.rows);
    const text = describe(view, this.#perSecond, (performance.now() - this.#startedMs) / 1_000);
    if (!this.#out.isTTY) {
      this.#out.write(`${text}\n`);
      return;
    }
    const filled = Math.round(view.share * barWidth);
    const bar = `${'█'.repeat(filled)}${'░'.repeat(barWidth - filled)}`;
    this.#out.write(`\r\u001b[K${`${bar} ${text}`.slice(0, (this.#out.columns || 80) - 1)}`);
  }

  /** Of the last seconds, so that it shows what happens now. */
  #measure(rows: number): void {
    const nowMs = performance.now();
    const seconds = (nowMs - this.#last.ms) / 1_000;
    if (seconds <= 0) return;
    const current = (rows - this.#last.rows) / seconds;
    const weight = Math.min(1, seconds / 3);
    this.#perSecond = this.#perSecond === 0 ? current : this.#perSecond * (1 - weight) + current * weight;
    this.#last = { ms: nowMs, rows };
  }
}

function describe({ share, rows, refused, waitingFor }: ProgressView, perSecond: number, seconds: number): string {
  const parts = [`${Math.floor(share * 100)} %`, `${rows} rows`, `${Math.round(perSecond)}/s`];
  if (share > 0.01 && share < 1) parts.push(`${formatSeconds((seconds / share) * (1 - share))} left`);
  if (refused > 0) parts.push(`${refused} not taken`);
  if (waitingFor !== undefined) parts.push(`waiting: ${waitingFor}`);
  return parts.join(', ');
}

export function formatSeconds(seconds: number): string {
  if (seconds < 60) return `${Math.ceil(seconds)} s`;
  const minutes = Math.ceil(seconds / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
