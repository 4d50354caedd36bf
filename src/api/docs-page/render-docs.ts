import { createHash } from 'node:crypto';
import { html, raw } from 'hono/html';
import { errorCodes, problemOf } from '../../errors.ts';
import type { OpenApiDocument } from '../openapi/document.ts';
import type { JsonSchema } from '../openapi/json-schema.ts';
import { problemExamples } from '../openapi/problem-examples.ts';
import type { Markup } from '../pages/render-page.ts';
import { renderInline, renderWords } from './markdown.ts';
import { docsScript } from './page-script.ts';
import { docsStyle } from './page-style.ts';
import { fieldsOf, renderFields, renderKind } from './render-fields.ts';
import { type RouteOnPage, renderRoute } from './render-route.ts';
import { renderCurl, renderJson, sampleOrigin } from './render-sample.ts';

const hashOf = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

/** The page has all that it needs in itself, and may load nothing. */
export const docsPolicy = [
  "default-src 'none'",
  `style-src ${hashOf(docsStyle)}`,
  `script-src ${hashOf(docsScript)}`,
  "form-action 'none'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ');

const firstCurl = `curl -i ${sampleOrigin}/v1/accounts \\
  -H "Authorization: Bearer $SEMEL_API_KEY" \\
  -H 'Idempotency-Key: my-first-account' \\
  -H 'Content-Type: application/json' \\
  -d '{"owner":"Ada","currency":"EUR","openingBalance":10000}'`;

/** The reference as a page: the whole document, for people. */
export function renderDocs(document: OpenApiDocument): string {
  const routes = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]): RouteOnPage => ({ method: method.toUpperCase(), path, operation })),
  );
  const groups = document.tags.map((tag) => ({
    ...tag,
    anchor: `group-${tag.name.toLowerCase().replaceAll(' ', '-')}`,
    routes: routes.filter(({ operation }) => operation.tags[0] === tag.name),
  }));
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Semel API</title>
<style>${raw(docsStyle)}</style>
</head>
<body>
<div class="page">
<div class="side">
<p class="brand">Semel <small>API ${String(document.info.version)}</small></p>
<input id="search" type="search" placeholder="Search, or press /" aria-label="Search routes" autocomplete="off">
<nav aria-label="Routes">
<div data-extra><ul><li><a href="#start">Start here</a></li><li><a href="#rules">What holds everywhere</a></li></ul></div>
${groups.map(
  (group) =>
    html`<div data-group><h2>${group.name}</h2><ul>${group.routes.map(
      ({ operation }) => html`<li><a href="#${operation.operationId}">${operation.summary}</a></li>`,
    )}</ul></div>`,
)}
<div data-extra><h2>Reference</h2><ul><li><a href="#headers">Headers</a></li><li><a href="#problems">Problems</a></li><li><a href="#schemas">Schemas</a></li></ul></div>
</nav>
</div>
<main>
<h1>Semel API</h1>
<p class="lead">${String(document.info.summary)} As <a href="/openapi.json">OpenAPI 3.1</a> for programs.</p>
<p id="none" class="lead" hidden>Nothing has these words in it.</p>
${renderIntroduction(document)}
${groups.map(
  (
    group,
  ) => html`<section class="group" data-group id="${group.anchor}"><h2>${group.name}</h2><p>${renderInline(group.description)}</p>
${group.routes.map((route) => renderRoute(document, route))}</section>`,
)}
${renderHeaders(document)}
${renderProblems()}
${renderSchemas(document)}
</main>
</div>
<script>${raw(docsScript)}</script>
</body>
</html>
`;
  if (page instanceof Promise) throw new TypeError('A page cannot wait for its parts.');
  return page.toString();
}

function renderIntroduction(document: OpenApiDocument): Markup {
  return html`<div class="intro" data-extra>
<section class="card" id="start"><h2>Start here</h2>
<p>Everything under <code>/v1</code> needs an API key: <code>Authorization: Bearer &lt;api key&gt;</code>. <code>npm start</code> prints
one; elsewhere it is the value of <code>SEMEL_API_KEY</code>. A key has scopes: <code>operate</code>, and <code>admin</code>, which may do all.</p>
<p>Open an account. Send it twice: the answer is the same, and so is the account.</p>
${renderCurl(firstCurl)}</section>
<section class="card" id="rules"><h2>What holds everywhere</h2>
${renderWords(String(document.info.description))}</section>
</div>`;
}

function renderHeaders(document: OpenApiDocument): Markup {
  const { parameters = {}, headers = {} } = document.components;
  const list = (title: string, all: Record<string, JsonSchema>, prefix: string) => html`<section class="card thing">
<h3>${title}</h3><dl class="fields">${Object.entries(all).map(
    ([name, header]) =>
      html`<div id="${prefix}-${name}"><dt><code>${name}</code><span class="kind">${renderKind(header.schema as JsonSchema)}</span></dt><dd>${renderInline(String(header.description))}</dd></div>`,
  )}</dl></section>`;
  return html`<section class="group" id="headers" data-extra><h2>Headers</h2>
<p>Besides <code>Authorization</code> and, where a route names it, <code>Idempotency-Key</code>.</p>
${list('Of requests', parameters, 'header')}${list('Of answers', headers, 'answer-header')}</section>`;
}

function renderProblems(): Markup {
  return html`<section class="group" id="problems" data-extra><h2>Problems</h2>
<p>Each error is a problem with one of these codes. Codes never change; texts may.</p>
<div class="card rows">${errorCodes.map((code) => {
    const { detail, ...extra } = problemExamples[code];
    const problem = problemOf(code, detail, extra);
    return html`<section class="thing" id="problem-${code}"><h3><a href="#problem-${code}">${code}</a><span class="status">${problem.status}</span></h3>
<p>${problem.title}.</p><details><summary>Example</summary>${renderJson(problem)}</details></section>`;
  })}</div></section>`;
}

function renderSchemas(document: OpenApiDocument): Markup {
  return html`<section class="group" id="schemas" data-extra><h2>Schemas</h2><p>What the answers are made of.</p>
${Object.entries(document.components.schemas ?? {}).map(
  ([
    name,
    schema,
  ]) => html`<section class="card thing" id="schema-${name}"><h3><a href="#schema-${name}">${name}</a></h3>
${schema.description === undefined ? '' : html`<p>${renderInline(String(schema.description))}</p>`}
${fieldsOf(schema).length > 0 ? renderFields(fieldsOf(schema)) : html`<p>${renderKind(schema)}</p>`}</section>`,
)}</section>`;
}
