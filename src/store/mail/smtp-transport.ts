import { Readable } from 'node:stream';
import { parseConnectionUrl } from 'nodemailer/lib/shared';
import SMTPConnection from 'nodemailer/lib/smtp-connection';
import { withDeadline } from '../deadline.ts';
import { type ComposedMail, composeMail } from './compose-mail.ts';
import { MailError } from './mail-error.ts';
import type { MailTransport } from './mail-transport.ts';

interface SmtpFailure {
  message: string;
  responseCode?: number | undefined;
}

/** Speaks to a mail server, one connection for each mail. */
export function openSmtpTransport(url: string, { timeoutMs }: { timeoutMs: number }): MailTransport {
  return {
    send: async (message) => {
      const mail = await composeMail(message);
      const conversation = new Conversation(url, timeoutMs);
      try {
        const response = await withDeadline(conversation.send(mail), timeoutMs, () => new Error('no answer in time'));
        conversation.end();
        return { externalId: readServerId(response) };
      } catch (error) {
        conversation.cut();
        throw toMailError(error, conversation.hasBegunData);
      }
    },
  };
}

class Conversation {
  /** From here on, a lost connection leaves no way to know whether the server took the mail. */
  hasBegunData = false;
  readonly #connection: SMTPConnection;
  readonly #auth: { user?: string | undefined; pass?: string | undefined } | undefined;

  constructor(url: string, timeoutMs: number) {
    const { auth, ...options } = parseConnectionUrl(url);
    this.#auth = auth;
    this.#connection = new SMTPConnection({
      ...options,
      connectionTimeout: timeoutMs,
      greetingTimeout: timeoutMs,
      socketTimeout: timeoutMs,
    });
  }

  /** The server's last reply, which says that it took the mail. */
  async send({ envelope, content }: ComposedMail): Promise<string> {
    const connection = this.#connection;
    return await new Promise<string>((resolve, reject) => {
      // It stays for the connection's life: an error after the outcome would otherwise end the process.
      connection.on('error', reject);
      const deliver = () =>
        connection.send(envelope, this.#readWhenAsked(content), (error, info) =>
          error ? reject(error) : resolve(info.response),
        );
      connection.connect((error) => {
        if (error) reject(error);
        // Credentials that the server has no use for must not pass for a login.
        else if (this.#auth) connection.login(this.#auth, (failure) => (failure ? reject(failure) : deliver()));
        else deliver();
      });
    });
  }

  /** Takes leave, and does not wait for the answer. */
  end(): void {
    this.#connection.quit();
  }

  cut(): void {
    this.#connection.close();
  }

  /** The connection begins to read once the server has said 354 to DATA, and not before. */
  #readWhenAsked(content: Buffer): Readable {
    const conversation = this;
    return Readable.from(
      (function* () {
        conversation.hasBegunData = true;
        yield content;
      })(),
    );
  }
}

/** A reply is a refusal whenever it comes. Silence is one only as long as the server has not seen the mail. */
function toMailError(error: unknown, hasBegunData: boolean): MailError {
  const failure: SmtpFailure = error instanceof Error ? error : { message: String(error) };
  const isRefusal = failure.responseCode !== undefined && failure.responseCode >= 400;
  const outcome = hasBegunData && !isRefusal ? 'unknown' : 'not_sent';
  return new MailError(outcome, failure.message, failure.responseCode);
}

/** `250 2.0.0 Ok: queued as 4F2C…` has no fixed form, so all of it after the codes is kept, within reason. */
function readServerId(response: string): string {
  return response.replace(/^\d{3}[ -](\d\.\d{1,3}\.\d{1,3} )?/, '').slice(0, 200);
}
