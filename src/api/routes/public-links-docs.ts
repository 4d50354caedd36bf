import { z } from 'zod';
import { exampleTokens } from '../openapi/example-ids.ts';
import type { AnswerDocs, RouteGroup } from '../openapi/route-docs.ts';

const token = z.string().describe('The secret part of the link.');
const page = { otherTypes: { 'text/html': z.string() }, headers: ['Content-Security-Policy'] } as const;
const pages = (description: string): Record<number, AnswerDocs> => ({
  200: { description, ...page },
  404: { description: 'The link is not valid, a page says.', ...page },
  503: { description: 'To be tried again in a moment, a page says.', ...page },
});
const shown = { status: 200, type: 'text/html' };

export const publicLinkDocs: RouteGroup = {
  tag: 'Links in mails',
  description: 'Pages for people, who have no key but what is in the link.',
  routes: {
    'GET /v/{token}': {
      summary: 'Confirm an address',
      description: 'As often as you like.',
      path: { token },
      answers: pages('The address is confirmed.'),
      examples: { link: { path: { token: exampleTokens.verify }, answer: shown } },
    },
    'GET /u/{token}': {
      summary: 'Ask whether to unsubscribe',
      description: 'It changes nothing: programs that check mail follow every link.',
      path: { token },
      answers: pages('A page with a button.'),
      examples: { link: { path: { token: exampleTokens.unsubscribe }, answer: shown } },
    },
    'POST /u/{token}': {
      summary: 'Unsubscribe',
      description: 'What the button and the one-click unsubscribing of mail programs (RFC 8058) send.',
      path: { token },
      answers: pages('The address gets no more mailings.'),
      examples: { link: { path: { token: exampleTokens.unsubscribe }, answer: shown } },
    },
  },
};
