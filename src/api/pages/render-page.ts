import { html, raw } from 'hono/html';
import { pageStyle } from './page-style.ts';

/** A piece of a page as `html` makes it, with the values in it escaped. */
export type Markup = ReturnType<typeof html>;

// Drawn here, because the pages load nothing. They say what the heading says, so a screen reader skips them.
const signs = {
  done: 'M5 12.5 10 17.5 19 7',
  mail: 'M4.5 5.5h15a1 1 0 0 1 1 1v11a1 1 0 0 1-1 1h-15a1 1 0 0 1-1-1v-11a1 1 0 0 1 1-1zM4 6.5l8 6.5 8-6.5',
  unknown: 'M8.75 9a3.25 3.25 0 1 1 5 2.75c-1.1.7-1.75 1.35-1.75 2.75M12 18v.01',
  wait: 'M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17zM12 7.5V12l3 2',
} as const;

export interface PageParts {
  readonly sign: keyof typeof signs;
  /** Plain text, for the tab as well as for the page. */
  readonly heading: string;
  readonly content: Markup;
}

export function renderPage({ sign, heading, content }: PageParts): string {
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${heading}</title>
<style>${raw(pageStyle)}</style>
</head>
<body>
<main>
<svg class="sign" viewBox="0 0 24 24" aria-hidden="true"><path d="${signs[sign]}"/></svg>
<h1>${heading}</h1>
${content}
</main>
</body>
</html>
`;
  // It is one only if a value in the page was one, and a page is made of what is known already.
  if (page instanceof Promise) throw new TypeError('A page cannot wait for its parts.');
  return page.toString();
}

/** A value of somebody else's. Isolated, so that letters that run from right to left do not turn ours around. */
export function quote(value: string): Markup {
  return html`<bdi>${value}</bdi>`;
}

/** In full. Where it is too long for a line, it breaks before the domain if it can. */
export function showMailbox(email: string): Markup {
  const at = Math.max(email.lastIndexOf('@'), 0);
  return html`<p class="mailbox"><bdi>${email.slice(0, at)}<wbr>${email.slice(at)}</bdi></p>`;
}
