import { html } from 'hono/html';
import { quote, renderPage, showMailbox } from './render-page.ts';

export interface VerifiedView {
  readonly email: string;
  readonly verifiedAt: Date;
  readonly sender: string;
}

// The page has no script that would know the visitor's own time zone, so it names the one it uses.
const moment = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'long',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
  timeZone: 'UTC',
});

/** Shown to whoever opened the link of a mail that asks for confirmation, also when it is opened again. */
export function verifiedPage({ email, verifiedAt, sender }: VerifiedView): string {
  return renderPage({
    sign: 'done',
    heading: 'Your address is confirmed',
    content: html`<p>Thank you. ${quote(sender)} now knows that this mailbox is yours:</p>
${showMailbox(email)}
<p class="note">Confirmed on <time datetime="${verifiedAt.toISOString()}">${moment.format(verifiedAt)} UTC</time>.
There is nothing more to do: you can close this page.</p>`,
  });
}
