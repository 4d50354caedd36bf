import { html } from 'hono/html';
import type { OpenApiOperation } from '../openapi/document.ts';
import type { JsonSchema } from '../openapi/json-schema.ts';
import type { Markup } from '../pages/render-page.ts';

type Examples = Record<string, { value: unknown }>;
type Content = Record<string, { examples?: Examples }>;

/** Where `npm start` listens. The page puts its own address in its place. */
export const sampleOrigin = 'http://127.0.0.1:3000';

interface Sample {
  method: string;
  path: string;
  operation: OpenApiOperation;
}

/** The requests of the examples as curl, each with its answer. The first is open. */
export function renderSamples(sample: Sample): Markup {
  const titles = titlesOf(sample.operation);
  const shown = titles.map(
    (title) => html`<h4>Request</h4>${renderCurl(writeCurl(sample, title))}${renderAnswer(sample, title)}`,
  );
  const [first, ...others] = shown;
  return html`${first ?? renderCurl(writeCurl(sample, ''))}${others.map(
    (other, index) => html`<details><summary>Another: ${titles[index + 1]}</summary>${other}</details>`,
  )}`;
}

export function renderCurl(command: string): Markup {
  const [first = '', ...others] = command.split(sampleOrigin);
  return renderCode(html`${first}${others.map((text) => html`<span data-origin>${sampleOrigin}</span>${text}`)}`);
}

export function renderJson(value: unknown): Markup {
  if (typeof value === 'string') return renderCode(html`${value}`);
  // The names of fields stand out, as every second part.
  const parts = JSON.stringify(value, null, 2).split(/^( *"[^"]*"(?=:))/m);
  return renderCode(
    html`${parts.map((part, index) => (index % 2 === 1 ? html`<span class="name">${part}</span>` : part))}`,
  );
}

function renderCode(content: Markup): Markup {
  // It can scroll, so that it must be reached by the keyboard too.
  return html`<pre tabindex="0"><code>${content}</code></pre>`;
}

function titlesOf({ parameters, requestBody, responses }: OpenApiOperation): string[] {
  const titles = new Set<string>();
  const add = (examples: unknown) => {
    for (const title of Object.keys((examples ?? {}) as Examples)) titles.add(title);
  };
  for (const { examples } of Object.values((requestBody?.content ?? {}) as Content)) add(examples);
  for (const parameter of parameters) add(parameter.examples);
  for (const [, { content }] of successesOf(responses)) {
    for (const { examples } of Object.values((content ?? {}) as Content)) add(examples);
  }
  return [...titles];
}

function successesOf(responses: Record<string, JsonSchema>): [string, JsonSchema][] {
  return Object.entries(responses).filter(([status]) => status.startsWith('2'));
}

function renderAnswer({ operation }: Sample, title: string): Markup | string {
  for (const [status, { content }] of successesOf(operation.responses)) {
    for (const { examples } of Object.values((content ?? {}) as Content)) {
      const example = examples?.[title];
      if (example) return html`<h4>Answer <span class="status">${status}</span></h4>${renderJson(example.value)}`;
    }
  }
  return '';
}

function writeCurl({ method, path, operation }: Sample, title: string): string {
  const given = (place: string) =>
    (operation.parameters as { name: string; in: string; examples?: Examples }[]).flatMap((parameter) => {
      const value = parameter.in === place ? parameter.examples?.[title]?.value : undefined;
      return value === undefined ? [] : [[parameter.name, String(value)] as const];
    });
  const parts = new Map(given('path'));
  const query = new URLSearchParams(Object.fromEntries(given('query'))).toString();
  const target = path.replaceAll(/\{(\w+)\}/g, (part, name) => parts.get(name) ?? part) + (query && `?${query}`);
  const isPublic = operation.security.length === 0;
  const lines = [
    `curl ${method === 'GET' || operation.requestBody ? '' : `-X ${method} `}${quote(sampleOrigin + target)}`,
    ...(isPublic ? [] : ['-H "Authorization: Bearer $SEMEL_API_KEY"']),
    ...given('header').map(([name, value]) => `-H ${quote(`${name}: ${value}`)}`),
    ...acceptOf(operation, title),
    ...bodyOf(operation, title),
  ];
  return lines.join(' \\\n  ');
}

/** Only where the answer depends on it. */
function acceptOf({ responses }: OpenApiOperation, title: string): string[] {
  const types = successesOf(responses).flatMap(([, { content }]) => Object.entries((content ?? {}) as Content));
  const isJsonToo = types.some(([type]) => type === 'application/json');
  const wanted = types.find(([, { examples }]) => examples?.[title])?.[0];
  return isJsonToo && wanted !== undefined && wanted !== 'application/json' ? [`-H ${quote(`Accept: ${wanted}`)}`] : [];
}

function bodyOf({ requestBody }: OpenApiOperation, title: string): string[] {
  const contents = Object.entries((requestBody?.content ?? {}) as Content);
  const [type, content] = contents.find(([, { examples }]) => examples?.[title]) ?? [];
  const value = content?.examples?.[title]?.value;
  if (type === undefined || value === undefined) return [];
  if (type === 'multipart/form-data') {
    return Object.entries(value as Record<string, string>).map(([name, text]) =>
      name === 'file' ? `-F ${quote('file=@people.csv')}` : `-F ${quote(`${name}=${text}`)}`,
    );
  }
  const header = `-H ${quote(`Content-Type: ${type}`)}`;
  if (typeof value === 'string') return [header, `--data-binary ${quote(value)}`];
  return [header, `-d ${quote(JSON.stringify(value, null, 2))}`];
}

/** Safe in any POSIX shell. */
function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
