import type { Logger } from 'pino';
import { v7 as uuidv7 } from 'uuid';
import {
  type AlertMail,
  type AlertTiming,
  claimAlertMail,
  markAlertMailSent,
  putOffAlertMail,
} from '../../store/alerts.ts';
import type { Database } from '../../store/database.ts';
import { MailError } from '../../store/mail/mail-error.ts';
import type { MailTransport } from '../../store/mail/mail-transport.ts';
import { alertSubject, alertText } from './alert-mail-text.ts';

export interface AlertMailerParts {
  db: Database;
  transport: Pick<MailTransport, 'send'>;
  from: string;
  /** Nobody: nothing is sent, and what is queued stays. */
  to: string | undefined;
  log: Logger;
  timing?: Partial<AlertMailerTiming>;
}

export interface AlertMailerTiming extends AlertTiming {
  /** The pause after the first failure. It doubles with each one, up to the last. */
  retryMs: number;
  maxRetryMs: number;
}

const defaultTiming: AlertMailerTiming = {
  // Long enough that operations which fail for one reason come together, short enough to be told in time.
  gatherMs: 5_000,
  // A failure that lasts makes two mails a minute, and not one for each round.
  pauseMs: 30_000,
  // A mailer that is alive is done by then: see startAlertMails.
  leaseMs: 40_000,
  retryMs: 5_000,
  // A mail server that is back is noticed within five minutes.
  maxRetryMs: 300_000,
};

export interface AlertMailer {
  /** Sends one mail, if one is due, and returns how many alerts it told. Any number of mailers may run at once. */
  runOnce(): Promise<number>;
}

/**
 * Tells the operator, in one mail for all that failed at about the same time. A mailer that dies between the claim and
 * the outcome leaves the mail SENDING, and it is sent again with the same Message-ID: better told twice than never.
 */
export function createAlertMailer({ to, timing, ...parts }: AlertMailerParts): AlertMailer {
  const limits = { ...defaultTiming, ...timing };
  return {
    runOnce: async () => {
      if (to === undefined) return 0;
      const mail = await claimAlertMail(parts.db, newMessageId(parts.from), limits);
      return mail && (await sendAlertMail({ ...parts, to }, mail, limits)) ? mail.alerts.length : 0;
    },
  };
}

type SendingParts = Omit<AlertMailerParts, 'to' | 'timing'> & { to: string };

/** Whether it was sent. Whatever went wrong, the mail stays and comes back after a pause. */
async function sendAlertMail(parts: SendingParts, mail: AlertMail, limits: AlertMailerTiming): Promise<boolean> {
  const { db, transport, from, to, log } = parts;
  const about = { messageId: mail.messageId, alerts: mail.alerts.length, attempts: mail.attempts };
  const subject = alertSubject(mail.alerts.length);
  let externalId: string;
  try {
    const message = { from, to, subject, text: alertText(mail.alerts), messageId: mail.messageId };
    externalId = (await transport.send(message)).externalId;
  } catch (error) {
    // A refusal for good (5xx) is treated alike: only an operator can mend it, and the alert must not be lost.
    const isCertain = error instanceof MailError && error.outcome === 'not_sent';
    const delayMs = Math.min(limits.maxRetryMs, limits.retryMs * 2 ** Math.min(mail.attempts - 1, 20));
    log.error({ err: error, ...about, retryInMs: delayMs }, 'an alert mail was not confirmed');
    const status = isCertain ? 'PENDING' : 'SENDING';
    await putOffAlertMail(db, mail, { status, delayMs, error: error instanceof Error ? error.message : String(error) });
    return false;
  }
  await markAlertMailSent(db, mail, externalId);
  log.info({ ...about, externalId }, 'alert mail sent');
  return true;
}

/** In the sender's domain, as mail servers expect it. */
function newMessageId(from: string): string {
  const domain = /@([A-Za-z0-9.-]{1,100})>?$/.exec(from)?.[1] ?? 'localhost';
  return `<alert.${uuidv7()}@${domain}>`;
}
