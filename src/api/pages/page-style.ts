/** The colours of everything that people see, by day and by night. */
export const pageColours = `:root {
  color-scheme: light dark;
  --ground: #f3f2ee; --card: #ffffff; --line: #e2e0d9; --field: #f6f5f2;
  --text: #1c1f1d; --quiet: #565d59;
  --accent: #1b6a50; --accent-strong: #124d3a; --on-accent: #ffffff; --tint: #e4f0ea;
  --shadow: 0 1px 2px rgb(28 31 29 / 4%), 0 12px 40px rgb(28 31 29 / 7%);
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #111413; --card: #1a1e1c; --line: #2b312e; --field: #222725;
    --text: #edf0ee; --quiet: #a6aeaa;
    --accent: #86d3b5; --accent-strong: #a5e2ca; --on-accent: #0c2018; --tint: #20342c;
    --shadow: none;
  }
}
`;

/** The one style of all public pages. The policy in their headers names it by its hash and allows no other. */
export const pageStyle = `
${pageColours}* { box-sizing: border-box; margin: 0; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body {
  min-height: 100vh; min-height: 100svh;
  display: grid; grid-template-rows: 2fr auto 3fr; justify-items: center;
  padding: 1rem;
  background: var(--ground); color: var(--text);
  font: 1.0625rem/1.6 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  overflow-wrap: anywhere;
}
main {
  grid-row: 2; width: 100%; max-width: 32rem;
  padding: clamp(1.75rem, 7vw, 3rem);
  background: var(--card); border: 1px solid var(--line); border-radius: 1.25rem; box-shadow: var(--shadow);
}
.sign {
  display: block; width: 3.25rem; height: 3.25rem; padding: 0.75rem; margin-bottom: 1.5rem;
  border-radius: 50%; background: var(--tint); color: var(--accent);
  fill: none; stroke: currentColor; stroke-width: 1.75; stroke-linecap: round; stroke-linejoin: round;
}
h1 { font-size: 1.625rem; line-height: 1.25; font-weight: 650; letter-spacing: -0.015em; text-wrap: balance; }
p { margin-top: 0.875rem; text-wrap: pretty; }
.mailbox {
  margin-top: 1.25rem; padding: 0.75rem 1rem;
  background: var(--field); border: 1px solid var(--line); border-radius: 0.75rem;
  font-size: 1rem; font-weight: 500;
}
.note { margin-top: 1.25rem; color: var(--quiet); font-size: 0.9375rem; }
.button {
  display: block; width: 100%; min-height: 3.25rem; margin-top: 1.5rem; padding: 0.8125rem 1.5rem;
  border: 1px solid transparent; border-radius: 0.75rem;
  background: var(--accent); color: var(--on-accent);
  font: inherit; font-weight: 600; line-height: 1.5; text-align: center; text-decoration: none; cursor: pointer;
}
.button:hover, .button:active { background: var(--accent-strong); }
.button:focus-visible { outline: 3px solid var(--accent); outline-offset: 3px; }
`;
