import { html } from 'hono/html';
import { renderPage } from './render-page.ts';

/** One text for every link that is refused: why it is would tell a guesser which ones exist. */
export function unknownLinkPage(): string {
  return renderPage({
    sign: 'unknown',
    heading: 'This link is not valid',
    content: html`<p>Nothing has changed.</p>
<p class="note">If you came here from a mail, open the link in that mail once more.
Should you see this page again, ask the sender for a new mail.</p>`,
  });
}

export function unavailablePage(): string {
  // The empty address is that of the page itself: without a script, this is what a person can press.
  return renderPage({
    sign: 'wait',
    heading: 'Please try again in a moment',
    content: html`<p>We cannot answer right now. Your link can be used again.</p>
<a class="button" href="">Try again</a>`,
  });
}
