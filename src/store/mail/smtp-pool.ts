import { MailError } from './mail-error.ts';
import { SmtpSession, type SmtpSessionOptions } from './smtp-session.ts';

interface Waiting {
  resolve: (session: SmtpSession) => void;
  reject: (error: MailError) => void;
}

/** Many servers cut a connection after a hundred mails; it is given up before they do. */
const maxMailsPerSession = 100;
/** Long enough to bridge the gap between two groups of mails, shorter than any server's patience. */
const maxIdleMs = 5_000;

/** The connections to one mail server, never more than so many at once, and the line of those who wait for one. */
export class SmtpPool {
  readonly #options: SmtpSessionOptions;
  readonly #maxConnections: number;
  /** The one used last is at the end, and is used next: the others come to rest. */
  readonly #idle: { session: SmtpSession; timer: NodeJS.Timeout }[] = [];
  readonly #line: Waiting[] = [];
  /** A place is taken as long as the server may count its connection, also while that one takes leave. */
  #taken = 0;
  #onEmpty: (() => void) | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: SmtpSessionOptions, maxConnections: number) {
    this.#options = options;
    this.#maxConnections = maxConnections;
  }

  /** A connection that was used before, or else a new one that is not connected yet. First come, first served. */
  async take(): Promise<SmtpSession> {
    if (this.#closing) throw refuseClosed();
    if (this.#taken >= this.#maxConnections) {
      return await new Promise<SmtpSession>((resolve, reject) => this.#line.push({ resolve, reject }));
    }
    this.#taken += 1;
    return this.#takeIdle() ?? this.open();
  }

  /** Only for whoever has a place, in exchange for a connection that is cut. */
  open(): SmtpSession {
    return new SmtpSession(this.#options);
  }

  /** Gives the place back with a connection that may be used on, or that is of no more use. */
  async give(session: SmtpSession): Promise<void> {
    if (!session.canGoOn) session.cut();
    else if (this.#closing || session.mailCount >= maxMailsPerSession) await session.end();
    const next = this.#line.shift();
    if (next) return next.resolve(session.canGoOn ? session : this.open());
    this.#taken -= 1;
    if (session.canGoOn) this.#rest(session);
    if (this.#taken === 0) this.#onEmpty?.();
  }

  /** Refuses those in line, because a shutdown cannot wait for a line, but it waits for each place that is taken. */
  async close(): Promise<void> {
    this.#closing ??= this.#close();
    await this.#closing;
  }

  async #close(): Promise<void> {
    for (const waiting of this.#line.splice(0)) waiting.reject(refuseClosed());
    const idle = this.#idle.splice(0);
    for (const { timer } of idle) clearTimeout(timer);
    await Promise.all(idle.map(({ session }) => session.end()));
    if (this.#taken > 0) {
      await new Promise<void>((resolve) => {
        this.#onEmpty = resolve;
      });
    }
  }

  #takeIdle(): SmtpSession | undefined {
    for (let idle = this.#idle.pop(); idle; idle = this.#idle.pop()) {
      clearTimeout(idle.timer);
      if (!idle.session.canGoOn) continue;
      idle.session.wake();
      return idle.session;
    }
    return undefined;
  }

  #rest(session: SmtpSession): void {
    session.rest();
    const timer = setTimeout(() => void this.#endIdle(session), maxIdleMs).unref();
    this.#idle.push({ session, timer });
  }

  async #endIdle(session: SmtpSession): Promise<void> {
    const place = this.#idle.findIndex((idle) => idle.session === session);
    if (place < 0) return;
    this.#idle.splice(place, 1);
    this.#taken += 1;
    await session.end();
    await this.give(session);
  }
}

function refuseClosed(): MailError {
  return new MailError('not_sent', 'the mail transport is closed', undefined, 'connect');
}
