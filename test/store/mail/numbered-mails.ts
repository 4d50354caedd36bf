import type { MailMessage } from '../../../src/store/mail/mail-transport.ts';
import type { Step } from './scripted-smtp-server.ts';

export const messageId = (index: number): string => `<mail.${index}@example.com>`;

export const messageIds = (count: number): string[] => Array.from({ length: count }, (_, index) => messageId(index));

export function numberedMail(index: number, text = 'text'): MailMessage {
  const from = 'Semel <semel@example.com>';
  return { from, to: `user${index}@example.com`, subject: `Mail ${index}`, text, messageId: messageId(index) };
}

/** What a server is asked for each mail that it takes. */
export const oneMail: readonly Step[] = ['mail', 'rcpt', 'data', 'content'];
