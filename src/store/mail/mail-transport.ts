import { join } from 'node:path';
import type { Config } from '../../config.ts';
import { openCaptureTransport } from './capture-transport.ts';
import { openSmtpTransport } from './smtp-transport.ts';

export interface MailMessage {
  from: string;
  to: string;
  subject: string;
  /** Text, HTML, or both as alternatives; at least one of them. */
  text?: string | undefined;
  html?: string | undefined;
  /** With its angle brackets. The same mail has the same one in every attempt, so that a receiver can tell. */
  messageId: string;
  /** Makes it bulk mail that one click (a POST to this URL) ends. Without it, the mail is a machine's own. */
  unsubscribeUrl?: string | undefined;
}

export interface MailTransport {
  /** Resolves once the mail is taken, with the id under which the other side knows it. Rejects with a MailError. */
  send(message: MailMessage): Promise<{ externalId: string }>;
  /** How many mails are worth handing over at once. More of them wait in line. */
  readonly maxInHand: number;
  /** Waits for the conversations in hand. What waits in line, or comes later, is refused as not sent. */
  close(): Promise<void>;
}

/** Without MAIL_URL, mail is kept as files under the data folder. */
export function openMailTransport(
  config: Pick<Config, 'MAIL_URL' | 'MAIL_TIMEOUT_MS' | 'SEMEL_DATA_DIR'>,
  { maxConnections = 1, onData }: { maxConnections?: number; onData?: () => void } = {},
): MailTransport {
  return config.MAIL_URL
    ? openSmtpTransport(config.MAIL_URL, { timeoutMs: config.MAIL_TIMEOUT_MS, maxConnections, onData })
    : openCaptureTransport(join(config.SEMEL_DATA_DIR, 'mail'));
}
