import { html } from 'hono/html';
import type { Markup } from '../pages/render-page.ts';

/** The little Markdown that the words of the document use: paragraphs, `code` and **strong**. */
export function renderWords(text: string): Markup {
  return html`${text.split(/\n\n+/).map((paragraph) => html`<p>${renderInline(paragraph)}</p>`)}`;
}

export function renderInline(text: string): Markup {
  const parts = text.split(/(`[^`]+`|\*\*[^*]+\*\*)/);
  return html`${parts.map((part) => {
    if (part.startsWith('`')) return html`<code>${part.slice(1, -1)}</code>`;
    return part.startsWith('**') ? html`<strong>${part.slice(2, -2)}</strong>` : part;
  })}`;
}
