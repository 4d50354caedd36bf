import { pageColours } from '../pages/page-style.ts';

/** The style of the reference: that of the public pages, laid out for reading and looking things up. */
export const docsStyle = `
${pageColours}
:root {
  --get: #1f5f8b; --get-tint: #e3eef6; --delete: #a13a2f; --delete-tint: #f8e8e5;
  --code: #f8f7f4;
  --mono: ui-monospace, SFMono-Regular, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace;
}
@media (prefers-color-scheme: dark) {
  :root { --get: #8fc3ea; --get-tint: #1d2f3c; --delete: #f0a49a; --delete-tint: #3b2421; --code: #151917; }
}
* { box-sizing: border-box; margin: 0; }
html { scroll-padding-top: 1.5rem; -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body {
  background: var(--ground); color: var(--text);
  font: 1rem/1.6 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  overflow-wrap: break-word;
}
a { color: var(--accent); text-underline-offset: 0.15em; }
a:hover { color: var(--accent-strong); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; border-radius: 0.25rem; }
code { font: 0.875em/1.5 var(--mono); overflow-wrap: anywhere; }
p code, li code, td code, dd code { padding: 0.1em 0.35em; background: var(--field); border-radius: 0.3em; }
.page { display: grid; grid-template-columns: 18rem minmax(0, 1fr); max-width: 100rem; margin: 0 auto; }
.side {
  position: sticky; top: 0; height: 100vh; overflow-y: auto; padding: 1.75rem 1rem 2rem 1.5rem;
  border-right: 1px solid var(--line);
}
.brand { font-weight: 680; font-size: 1.1875rem; letter-spacing: -0.015em; }
.brand small { margin-left: 0.375rem; color: var(--quiet); font-weight: 450; font-size: 0.8125rem; letter-spacing: 0; }
#search {
  width: 100%; margin: 1rem 0 0.5rem; padding: 0.55rem 0.75rem; min-height: 2.75rem;
  border: 1px solid var(--line); border-radius: 0.625rem; background: var(--card); color: var(--text); font: inherit;
}
#search::placeholder { color: var(--quiet); opacity: 1; }
nav h2 { margin: 1.25rem 0 0.25rem; color: var(--quiet); font-size: 0.8125rem; font-weight: 600; }
nav ul { padding: 0; list-style: none; }
nav a {
  display: block; padding: 0.22rem 0.5rem; margin-left: -0.5rem; border-radius: 0.4rem;
  color: var(--text); font-size: 0.875rem; line-height: 1.4; text-decoration: none;
}
nav a:hover { background: var(--field); color: var(--text); }
nav a[aria-current] { background: var(--tint); color: var(--accent-strong); font-weight: 550; }
main { min-width: 0; padding: 2.5rem clamp(1.25rem, 3.5vw, 3.5rem) 6rem; }
h1 { font-size: clamp(1.875rem, 4vw, 2.375rem); line-height: 1.15; font-weight: 680; letter-spacing: -0.025em; }
.lead { margin-top: 0.75rem; color: var(--quiet); font-size: 1.125rem; }
.card { padding: 1.5rem 1.75rem; background: var(--card); border: 1px solid var(--line); border-radius: 1rem; box-shadow: var(--shadow); }
.intro { display: grid; grid-template-columns: minmax(0, 1fr); gap: 1.25rem; margin-top: 2rem; }
.intro h2 { font-size: 1.1875rem; font-weight: 650; letter-spacing: -0.01em; }
.intro p { margin-top: 0.625rem; max-width: 46rem; text-wrap: pretty; }
.intro pre { margin-top: 1rem; }
.group > h2 { margin-top: 3.5rem; font-size: 1.5rem; font-weight: 670; letter-spacing: -0.02em; }
.group > p { margin: 0.375rem 0 1.25rem; color: var(--quiet); max-width: 46rem; }
.route {
  display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 26rem); gap: 0 2.25rem; margin-top: 1.25rem;
  align-items: start;
}
.route h3 { font-size: 1.125rem; font-weight: 640; letter-spacing: -0.01em; }
.route h3 a, .thing h3 a { color: inherit; text-decoration: none; }
.route h3 a:hover, .thing h3 a:hover { text-decoration: underline; }
.route h4 { margin-top: 1.375rem; color: var(--quiet); font-size: 0.8125rem; font-weight: 600; }
.line { display: flex; flex-wrap: wrap; gap: 0.375rem 0.625rem; align-items: baseline; margin-top: 0.4rem; }
.line code { font-size: 0.9375rem; }
.method {
  padding: 0.1rem 0.5rem; border-radius: 0.4rem; background: var(--tint); color: var(--accent);
  font: 650 0.75rem/1.6 var(--mono);
}
.method.get { background: var(--get-tint); color: var(--get); }
.method.delete { background: var(--delete-tint); color: var(--delete); }
.scope { color: var(--quiet); font-size: 0.8125rem; }
.words > p { margin-top: 0.75rem; text-wrap: pretty; }
.fields { margin-top: 0.25rem; }
.fields > div { padding: 0.5rem 0; border-top: 1px solid var(--line); }
.fields > div:first-child { border-top: 0; }
.fields dt { display: flex; flex-wrap: wrap; gap: 0 0.625rem; align-items: baseline; }
.fields dt code { font-weight: 600; color: var(--text); }
.fields .kind { color: var(--quiet); font-size: 0.8125rem; }
.fields .kind code { font-weight: 400; color: inherit; }
.fields .must { color: var(--accent); font-size: 0.8125rem; font-weight: 550; }
.fields dd { color: var(--quiet); font-size: 0.9rem; }
.fields .fields { margin: 0.25rem 0 0 0.25rem; padding-left: 0.875rem; border-left: 2px solid var(--line); }
.answer { margin-top: 0.375rem; font-size: 0.9375rem; }
.status { font: 600 0.875rem/1.6 var(--mono); }
.codes { display: flex; flex-wrap: wrap; gap: 0.3rem 0.4rem; margin-top: 0.375rem; padding: 0; list-style: none; }
.codes a {
  padding: 0.05rem 0.45rem; border: 1px solid var(--line); border-radius: 0.4rem; color: var(--text);
  font: 0.75rem/1.7 var(--mono); text-decoration: none; overflow-wrap: anywhere;
}
.codes a:hover { border-color: var(--accent); }
.codes span { color: var(--quiet); }
.sample { position: sticky; top: 1.5rem; min-width: 0; }
.sample h4 { margin-top: 1rem; }
.sample h4:first-child { margin-top: 0; }
pre {
  position: relative; max-height: 26rem; margin-top: 0.375rem; padding: 0.875rem 1rem; overflow: auto;
  background: var(--code); border: 1px solid var(--line); border-radius: 0.75rem; font-size: 0.8125rem; line-height: 1.55;
}
pre code { overflow-wrap: normal; white-space: pre; font-size: 1em; line-height: inherit; }
pre .name { color: var(--accent); }
pre button {
  position: absolute; top: 0.5rem; right: 0.5rem; padding: 0.1rem 0.6rem; min-height: 1.75rem; opacity: 0;
  border: 1px solid var(--line); border-radius: 0.5rem; background: var(--card); color: var(--text); font: 0.75rem/1.5 inherit; cursor: pointer;
}
pre:hover button, pre button:focus-visible { opacity: 1; }
details { margin-top: 0.75rem; }
summary { cursor: pointer; color: var(--quiet); font-size: 0.875rem; min-height: 1.75rem; }
.thing { margin-top: 1rem; }
.rows .thing { margin: 0; padding: 0.75rem 0; border-top: 1px solid var(--line); }
.rows .thing:first-child { border-top: 0; }
.rows .thing:target { border-color: var(--accent); }
.rows details { margin-top: 0.25rem; }
.thing h3 { font: 640 1rem/1.5 var(--mono); overflow-wrap: anywhere; }
.thing .status { color: var(--quiet); margin-left: 0.5rem; font-weight: 450; }
.thing > p { margin-top: 0.25rem; color: var(--quiet); font-size: 0.9375rem; }
:target { border-color: var(--accent); }
[hidden] { display: none !important; }
@media (max-width: 72rem) { .route { grid-template-columns: minmax(0, 1fr); } .sample { position: static; margin-top: 1.375rem; } }
@media (max-width: 52rem) {
  .page { grid-template-columns: minmax(0, 1fr); }
  .side { position: static; height: auto; max-height: none; padding: 1.25rem 1.25rem 1rem; border: 0; border-bottom: 1px solid var(--line); }
  nav { max-height: 15rem; overflow-y: auto; margin-top: 0.5rem; padding-left: 0.5rem; border: 1px solid var(--line); border-radius: 0.75rem; }
  nav h2 { margin-top: 0.75rem; }
  nav a { padding: 0.45rem 0.5rem; }
  main { padding-top: 1.75rem; }
  .card { padding: 1.25rem 1.125rem; }
  html { scroll-padding-top: 0.5rem; }
}
@media print {
  .side, pre button { display: none; }
  .page, .route { display: block; }
  .card { border: 0; border-top: 1px solid var(--line); border-radius: 0; box-shadow: none; padding: 1rem 0; }
  pre { max-height: none; } pre code { white-space: pre-wrap; overflow-wrap: anywhere; }
  .route, .thing { break-inside: avoid-page; }
}
`;
