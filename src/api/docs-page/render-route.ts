import { html } from 'hono/html';
import { type ErrorCode, errorCodes, statusOf } from '../../errors.ts';
import type { OpenApiDocument, OpenApiOperation } from '../openapi/document.ts';
import type { JsonSchema } from '../openapi/json-schema.ts';
import type { Markup } from '../pages/render-page.ts';
import { renderInline, renderWords } from './markdown.ts';
import { fieldsOf, renderFields, renderKind } from './render-fields.ts';
import { renderSamples } from './render-sample.ts';

export interface RouteOnPage {
  method: string;
  path: string;
  operation: OpenApiOperation;
}

interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  description?: string;
  schema: JsonSchema;
}

export function renderRoute(document: OpenApiDocument, route: RouteOnPage): Markup {
  const { method, path, operation } = route;
  const { operationId, summary, description } = operation;
  const codes = codesOf(document, operation);
  const searched = [method, path, summary, description ?? '', operation.tags[0], ...codes].join(' ').toLowerCase();
  return html`<section class="card route" id="${operationId}" data-text="${searched}">
<div class="words">
<h3><a href="#${operationId}">${summary}</a></h3>
<p class="line"><span class="method ${method.toLowerCase()}">${method}</span><code>${path}</code><span class="scope">${accessOf(operation)}</span></p>
${description === undefined ? '' : renderWords(description)}
${renderParameters(document, operation)}
${renderBody(operation)}
${renderAnswers(operation)}
${codes.length === 0 ? '' : html`<h4>Problems</h4><ul class="codes">${codes.map((code) => html`<li><a href="#problem-${code}"><span>${statusOf(code)}</span> ${code}</a></li>`)}</ul>`}
</div>
<div class="sample">${renderSamples(route)}</div>
</section>`;
}

function accessOf({ security }: OpenApiOperation): string {
  const [first] = security;
  return first ? `scope ${first.apiKey?.[0]}` : 'without a key';
}

const places = { path: 'In the path', query: 'In the query', header: 'Headers' } as const;

function renderParameters(document: OpenApiDocument, operation: OpenApiOperation): Markup {
  const own = operation.parameters.filter((parameter) => !('$ref' in parameter)) as unknown as Parameter[];
  const shared = operation.parameters.flatMap(({ $ref }) => (typeof $ref === 'string' ? [nameOf($ref)] : []));
  const lists = Object.entries(places).map(([place, title]) => {
    const fields = own
      .filter((parameter) => parameter.in === place)
      .map(({ name, schema, required = false, description }) => ({ name, schema, required, description }));
    return fields.length > 0 ? html`<h4>${title}</h4>${renderFields(fields)}` : '';
  });
  const known = shared.filter((name) => document.components.parameters?.[name] && name !== 'X-Request-Id');
  const also = known.map((name, index) => html`${index > 0 ? ', ' : ''}<a href="#header-${name}">${name}</a>`);
  return html`${lists}${known.length > 0 ? html`<p class="scope">Takes also ${also}.</p>` : ''}`;
}

function renderBody({ requestBody }: OpenApiOperation): Markup {
  const contents = Object.entries((requestBody?.content ?? {}) as Record<string, { schema: JsonSchema }>);
  return html`${contents.map(([type, { schema }]) => {
    const fields = fieldsOf(schema);
    return html`<h4>Body, ${type}</h4>${fields.length > 0 ? renderFields(fields) : html`<p class="answer">${renderKind(schema)}</p>`}`;
  })}`;
}

function renderAnswers({ responses }: OpenApiOperation): Markup {
  const answers = Object.entries(responses).filter(([, response]) => !('$ref' in response));
  return html`<h4>Answers</h4>${answers.map(([status, { description, content = {} }]) => {
    const kinds = Object.entries(content as Record<string, { schema: JsonSchema }>);
    const fields = kinds.flatMap(([, { schema }]) => fieldsOf(schema));
    return html`<p class="answer"><span class="status">${status}</span> ${renderInline(String(description))} ${kinds.map(
      ([type, { schema }], index) =>
        html`${index > 0 ? ' or ' : ''}${type === 'application/json' ? renderKind(schema) : html`<code>${type}</code>`}`,
    )}</p>${fields.length > 0 ? renderFields(fields) : ''}`;
  })}`;
}

/** The codes of all its problems, in the order of their statuses. */
function codesOf(document: OpenApiDocument, { responses }: OpenApiOperation): ErrorCode[] {
  return Object.values(responses).flatMap(({ $ref }) => {
    const response = typeof $ref === 'string' ? document.components.responses?.[nameOf($ref)] : undefined;
    const content = (response?.content ?? {}) as Record<string, { examples?: Record<string, unknown> }>;
    const given = Object.keys(content['application/problem+json']?.examples ?? {});
    return errorCodes.filter((code) => given.includes(code));
  });
}

function nameOf(ref: string): string {
  return ref.slice(ref.lastIndexOf('/') + 1);
}
