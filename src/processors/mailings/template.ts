/** What a template may name besides the columns of the file. */
const builtInFields = ['email', 'token', 'verifyUrl', 'unsubscribeUrl'] as const;
type BuiltInField = (typeof builtInFields)[number];

/** What is known of one entry: its cells in the order of the columns, and what Semel adds. */
export interface TemplateValues extends Record<BuiltInField, string> {
  cells: readonly string[];
}

export type Template = (values: TemplateValues) => string;

/** The message is a sentence for whoever wrote the template. */
export class TemplateError extends Error {}

type Part = string | ((values: TemplateValues) => string);

/** Where a field is looked for. */
interface Scope {
  /** Of the template. */
  name: string;
  columns: readonly string[];
  positions: ReadonlyMap<string, number>;
}

/** Some of the fields help to see which was meant; all of them may be 64 KiB. */
const maxListLength = 1_000;

/**
 * Makes a function of a text with `{{field}}` in it. Names are compared without regard to case. A field that nobody
 * knows is an error now, and not an empty place in a million mails.
 */
export function compileTemplate(
  source: string,
  columns: readonly string[],
  options: { name: string; toText?: (value: string) => string },
): Template {
  const { name, toText = (value) => value } = options;
  const positions = positionsOf(columns);
  const parts: Part[] = [];
  let position = 0;
  for (const match of source.matchAll(/\{\{([^{}]*)\}\}/g)) {
    parts.push(literal(source.slice(position, match.index), name));
    const read = readerOf((match[1] ?? '').trim(), { name, columns, positions });
    parts.push((values) => toText(read(values)));
    position = match.index + match[0].length;
  }
  parts.push(literal(source.slice(position), name));
  return (values) => parts.map((part) => (typeof part === 'string' ? part : part(values))).join('');
}

/** The columns that a template uses, by their position. */
export function columnsUsedBy(source: string, columns: readonly string[]): number[] {
  const names = [...source.matchAll(/\{\{([^{}]*)\}\}/g)].map(([, name = '']) => name.trim());
  const positions = positionsOf(columns);
  const used = names.filter((name) => !builtInOf(name)).map((name) => positions.get(name.toLowerCase()));
  return [...new Set(used)].filter((position) => position !== undefined);
}

export function escapeHtml(value: string): string {
  return value.replaceAll(/[&<>"']/g, (character) => htmlEscapes[character] ?? character);
}

const htmlEscapes: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

function literal(text: string, name: string): string {
  if (text.includes('{{')) throw new TemplateError(`${name}: a {{ is not closed with }}.`);
  return text;
}

function readerOf(field: string, { name, columns, positions }: Scope): (values: TemplateValues) => string {
  const builtIn = builtInOf(field);
  if (builtIn) return (values) => values[builtIn];
  const position = positions.get(field.toLowerCase());
  if (position !== undefined) return (values) => values.cells[position] ?? '';
  const known = columns.filter((column) => column !== '' && (!builtInOf(column) || /^email$/i.test(column)));
  const list = [...known, ...builtInFields.filter((each) => each !== 'email')].join(', ');
  const shown = list.length > maxListLength ? `${list.slice(0, maxListLength).toWellFormed()}…` : list;
  const asked = field.slice(0, 100).toWellFormed();
  throw new TemplateError(`${name}: there is no field {{${asked}}}. There are ${shown}.`);
}

function builtInOf(field: string): BuiltInField | undefined {
  return builtInFields.find((builtIn) => builtIn.toLowerCase() === field.toLowerCase());
}

/** Looked up and not searched for: a text may name a hundred thousand fields, and a file have as many columns. */
function positionsOf(columns: readonly string[]): Map<string, number> {
  const positions = new Map<string, number>();
  for (const [position, column] of columns.entries()) {
    if (column !== '' && !positions.has(column.toLowerCase())) positions.set(column.toLowerCase(), position);
  }
  return positions;
}
