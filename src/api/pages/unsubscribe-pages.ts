import { html } from 'hono/html';
import { quote, renderPage, showMailbox } from './render-page.ts';

export interface SubscriptionView {
  readonly email: string;
  readonly sender: string;
}

/** Asks first: programs that check mail open every link in it, and none of them is to unsubscribe anybody. */
export function unsubscribePage({ email, sender, action }: SubscriptionView & { readonly action: string }): string {
  return renderPage({
    sign: 'mail',
    heading: 'Do you want to unsubscribe?',
    content: html`<p>${quote(sender)} will then send no more mailings to this address:</p>
${showMailbox(email)}
<form method="post" action="${action}"><button class="button" type="submit">Unsubscribe</button></form>
<p class="note">Nothing has changed yet. To go on receiving mailings, close this page.</p>`,
  });
}

export function unsubscribedPage({ email, sender }: SubscriptionView): string {
  return renderPage({
    sign: 'done',
    heading: 'You are unsubscribed',
    content: html`<p>${quote(sender)} will send no more mailings to this address:</p>
${showMailbox(email)}
<p class="note">A mail that is already on its way may still arrive. You can close this page.</p>`,
  });
}
