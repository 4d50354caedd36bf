import { join } from 'node:path';
import type { Config } from '../../config.ts';
import { openCaptureTransport } from './capture-transport.ts';
import { openSmtpTransport } from './smtp-transport.ts';

export interface MailMessage {
  from: string;
  to: string;
  subject: string;
  text: string;
  /** With its angle brackets. The same mail has the same one in every attempt, so that a receiver can tell. */
  messageId: string;
}

export interface MailTransport {
  /** Resolves once the mail is taken, with the id under which the other side knows it. Rejects with a MailError. */
  send(message: MailMessage): Promise<{ externalId: string }>;
}

/** The mail server gets this long for the whole conversation: less than a shutdown waits for what is in hand. */
export const sendTimeoutMs = 20_000;

/** Without MAIL_URL, mail is kept as files under the data folder. */
export function openMailTransport(config: Pick<Config, 'MAIL_URL' | 'SEMEL_DATA_DIR'>): MailTransport {
  return config.MAIL_URL
    ? openSmtpTransport(config.MAIL_URL, { timeoutMs: sendTimeoutMs })
    : openCaptureTransport(join(config.SEMEL_DATA_DIR, 'mail'));
}
