import { parseConnectionUrl } from 'nodemailer/lib/shared';
import { withDeadline } from '../deadline.ts';
import { type ComposedMail, composeMail } from './compose-mail.ts';
import { MailError, type MailStage } from './mail-error.ts';
import type { MailTransport } from './mail-transport.ts';
import { SmtpPool } from './smtp-pool.ts';
import type { SmtpSession } from './smtp-session.ts';

interface SmtpFailure {
  message: string;
  responseCode?: number | undefined;
  command?: string | undefined;
}

/** What RSET may take. The mail's outcome is told by then, and only its connection waits. */
const resetTimeoutMs = 2_000;

/** Speaks to a mail server over a few connections that are used again. */
export function openSmtpTransport(
  url: string,
  options: { timeoutMs: number; maxConnections?: number; onData?: (() => void) | undefined },
): MailTransport {
  const { timeoutMs, maxConnections = 1, onData } = options;
  const pool = new SmtpPool({ ...parseConnectionUrl(url), timeoutMs, onData }, maxConnections);
  return {
    maxInHand: maxConnections,
    send: async (message) => {
      const mail = await composeMail(message);
      const response = await new Conversation(pool, await pool.take()).send(mail, timeoutMs);
      return { externalId: readServerId(response) };
    },
    close: () => pool.close(),
  };
}

/**
 * One mail over one place of the pool. It is not nodemailer's own pool, because that one puts mails back into its
 * queue by itself when a connection closes, and its errors do not tell whether the server has seen the mail.
 */
class Conversation {
  readonly #pool: SmtpPool;
  #session: SmtpSession;
  #isOver = false;

  constructor(pool: SmtpPool, session: SmtpSession) {
    this.#pool = pool;
    this.#session = session;
  }

  /** The deadline begins here, with the place: however long the line was, the server gets all of its time. */
  async send(mail: ComposedMail, timeoutMs: number): Promise<string> {
    try {
      const response = await withDeadline(this.#speak(mail), timeoutMs, () => new Error('no answer in time'));
      void this.#pool.give(this.#session);
      return response;
    } catch (error) {
      // Nothing may be begun any more, least of all another attempt, once the outcome is told.
      this.#isOver = true;
      const session = this.#session;
      const isUsable = isRefusalOfMail(error) && session.canGoOn;
      if (!isUsable) session.cut();
      void this.#leave(isUsable);
      throw toMailError(error, session.hasBegunData);
    }
  }

  async #speak(mail: ComposedMail): Promise<string> {
    if (this.#session.mailCount > 0) {
      try {
        return await this.#session.send(mail);
      } catch (error) {
        // The server has closed a connection that lay idle. It has seen nothing, so the mail may go over another one.
        if (this.#isOver || !this.#session.isUnheard) throw error;
        this.#session.cut();
        this.#session = this.#pool.open();
      }
    }
    await this.#session.connect();
    return await this.#session.send(mail);
  }

  /** After a refusal the server is asked to forget the mail, so that the next one may go over the same connection. */
  async #leave(isUsable: boolean): Promise<void> {
    const session = this.#session;
    if (isUsable) {
      await withDeadline(session.reset(), resetTimeoutMs, () => new Error('no answer in time')).catch(() =>
        session.cut(),
      );
    }
    await this.#pool.give(session);
  }
}

const stages: Record<string, MailStage> = { 'MAIL FROM': 'mail', 'RCPT TO': 'rcpt', DATA: 'data' };

/** The server goes on after these. 421 says that it closes the connection, whatever it was asked. */
function isRefusalOfMail(error: unknown): boolean {
  const { responseCode = 0, command = '' } = readFailure(error);
  return responseCode >= 400 && responseCode !== 421 && command in stages;
}

/** A reply is a refusal whenever it comes. Silence is one only as long as the server has not seen the mail. */
function toMailError(error: unknown, hasBegunData: boolean): MailError {
  const { message, responseCode, command = '' } = readFailure(error);
  const isRefusal = responseCode !== undefined && responseCode >= 400;
  const outcome = hasBegunData && !isRefusal ? 'unknown' : 'not_sent';
  const stageOfReply = responseCode === 421 ? 'connect' : (stages[command] ?? 'connect');
  return new MailError(outcome, message, responseCode, hasBegunData ? 'data' : stageOfReply);
}

function readFailure(error: unknown): SmtpFailure {
  return error instanceof Error ? error : { message: String(error) };
}

/** `250 2.0.0 Ok: queued as 4F2C…` has no fixed form, so all of it after the codes is kept, within reason. */
function readServerId(response: string): string {
  return response.replace(/^\d{3}[ -](\d\.\d{1,3}\.\d{1,3} )?/, '').slice(0, 200);
}
