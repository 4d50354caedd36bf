import type { MailMessage } from '../../store/mail/mail-transport.ts';
import type { ClaimedEntry } from '../../store/mailings/mailing-batches.ts';
import type { MailingRow } from '../../store/mailings/mailings.ts';
import { encodeToken, type MailLinks } from './links.ts';
import { compileTemplate, escapeHtml, type Template, type TemplateValues } from './template.ts';

/** What a mail is made of. Without a text of the client's own, it asks to confirm the address. */
export interface MailTexts {
  subject: string;
  text: string | null;
  html: string | null;
}

export const defaultTexts = {
  subject: 'Please confirm your address',
  text: [
    'Hello,',
    '',
    'this address was given to us. Please confirm that it is yours:',
    '',
    '{{verifyUrl}}',
    '',
    'If you want no more mail from us: {{unsubscribeUrl}}',
    '',
  ].join('\n'),
};

export type RenderMail = (entry: Pick<ClaimedEntry, 'line' | 'email' | 'token' | 'cells'>) => MailMessage;

/** Throws a TemplateError if a text names a field that the file does not have. */
export function compileMail(
  mailing: Pick<MailingRow, 'id' | 'sender' | 'format' | 'subject' | 'body_text' | 'body_html'>,
  links: MailLinks,
): RenderMail {
  const texts = compileTexts(
    { subject: mailing.subject, text: mailing.body_text, html: mailing.body_html },
    mailing.format.columns,
  );
  const domain = /@([A-Za-z0-9.-]{1,100})>?$/.exec(mailing.sender)?.[1] ?? 'localhost';
  return (entry) => {
    const values = valuesOf(entry, links);
    return {
      from: mailing.sender,
      to: entry.email,
      subject: texts.subject(values),
      ...(texts.text && { text: texts.text(values) }),
      ...(texts.html && { html: texts.html(values) }),
      // Made of the entry alone: whatever happens, the same entry has the same one.
      messageId: `<${mailing.id}.${entry.line}@${domain}>`,
      unsubscribeUrl: values.unsubscribeUrl,
    };
  };
}

interface CompiledTexts {
  subject: Template;
  text: Template | undefined;
  html: Template | undefined;
}

export function compileTexts({ subject, text, html }: MailTexts, columns: readonly string[]): CompiledTexts {
  return {
    subject: compileTemplate(subject, columns, { name: 'subject' }),
    text: text === null ? undefined : compileTemplate(text, columns, { name: 'text' }),
    html: html === null ? undefined : compileTemplate(html, columns, { name: 'html', toText: escapeHtml }),
  };
}

function valuesOf(entry: Pick<ClaimedEntry, 'email' | 'token' | 'cells'>, links: MailLinks): TemplateValues {
  return {
    email: entry.email,
    token: encodeToken(entry.token),
    verifyUrl: links.verifyUrl(entry.token),
    unsubscribeUrl: links.unsubscribeUrl(entry.token),
    cells: entry.cells ?? [],
  };
}
