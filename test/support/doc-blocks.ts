import { listProject, readText } from './sources.ts';

/** A piece of a page between two fences. */
export interface DocBlock {
  page: string;
  line: number;
  language: string;
  text: string;
  /** The file that the line before the block names: the block is what is in it. */
  file?: string;
  /** What the page shows as the output of a command: the block that follows it with nothing between. */
  shown?: string;
}

export const pages = listProject().filter((path) => path.endsWith('.md'));

export const placeOf = ({ page, line }: DocBlock): string => `${page}:${line}`;

export function readBlocks(page: string): DocBlock[] {
  const source = readText(page);
  const blocks: (DocBlock & { end: number })[] = [...source.matchAll(/^```(\w*)\n(.*?)^```$/gms)].map((match) => ({
    page,
    line: source.slice(0, match.index).split('\n').length,
    language: match[1] ?? '',
    text: match[2] ?? '',
    ...fileOf(source.slice(0, match.index)),
    end: match.index + match[0].length,
  }));
  return blocks.map(({ end, ...block }, index) => {
    const next = blocks[index + 1];
    const isShown = block.language === 'sh' && next !== undefined && ['', 'json'].includes(next.language);
    const follows = isShown && source.slice(end).trimStart().startsWith(`\`\`\`${next.language}\n${next.text}`);
    return follows ? { ...block, shown: next.text } : block;
  });
}

function fileOf(before: string): { file?: string } {
  const [, file] = /`([\w-]+\.\w+)`[^`\n]*:\n\n$/.exec(before) ?? [];
  return file === undefined ? {} : { file };
}

/** The lines of all pages that run a command, with the variables in front of it and without the comment behind it. */
export function linesOf(command: string): { page: string; text: string }[] {
  const blocks = pages.flatMap(readBlocks).filter(({ language }) => language === 'sh');
  return blocks
    .flatMap(({ page, text }) => text.split('\n').map((line) => ({ page, text: line.replace(/\s+#.*$/, '') })))
    .filter(({ text }) => `${text.replace(/^(\w+=\S* +)+/, '')} `.startsWith(`${command} `));
}

/** The commands that a page names between backticks in its text. */
export function namedCommands(page: string): string[] {
  const prose = readText(page).replaceAll(/^```.*?^```$/gms, '');
  return [...prose.matchAll(/`((?:npm|npx|docker compose) [^`]+)`/g)].map(([, command = '']) => command);
}

export interface Comparison {
  /** What is shown and did not come, in words. */
  faults: string[];
  /** Which id came where the page shows one: other blocks of the page mean the same thing by it. */
  ids: Map<string, string>;
}

const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/;

/** Holds an output against what the page shows: the same status line, the same headers, JSON of the same form. */
export function compareOutput(shown: string, output: string): Comparison {
  const came = readValues(output);
  const comparison: Comparison = { faults: [], ids: new Map() };
  const { faults } = comparison;
  for (const line of parseJson(shown) === undefined ? shown.split('\n') : []) {
    const [, header] = /^([a-z-]+): /.exec(line) ?? [];
    if (line.startsWith('HTTP/') && !output.includes(line)) faults.push(`the status line is not "${line}"`);
    if (header !== undefined && !new RegExp(`^${header}: `, 'im').test(output)) faults.push(`there is no ${header}`);
    if (header === 'idempotent-replayed' && !output.includes(line)) faults.push(`it does not say "${line}"`);
  }
  const texts = readValues(shown).length > 0 || shown.startsWith('HTTP/') ? [] : shown.split('\n').filter(Boolean);
  const missing = findMissing(texts, output.split('\n'));
  if (missing !== undefined) faults.push(`there is no line like "${missing}"`);
  for (const [index, value] of readValues(shown).entries()) {
    if (came[index] === undefined) faults.push(`nothing like ${JSON.stringify(value)} came`);
    else compareForm(value, came[index], `value ${index + 1}`, comparison);
  }
  return comparison;
}

/** Lines come in the order in which they are shown, perhaps with others between. */
function findMissing(shown: readonly string[], came: readonly string[]): string | undefined {
  const left = came.map(formOf);
  return shown.find((line) => {
    const at = left.indexOf(formOf(line));
    left.splice(0, at + 1);
    return at === -1;
  });
}

/** A count is as it is shown; how long something took, and how much there was before, is not. */
const formOf = (line: string): string => (/^[a-z ]+ \d+$/.test(line) ? line : line.replaceAll(/\d+(\.\d+)?/g, '0'));

/** The JSON of an output: all of it, or its lines that are JSON. */
function readValues(text: string): object[] {
  const whole = parseJson(text);
  if (whole !== undefined) return [whole];
  return text.split('\n').flatMap((line) => parseJson(line) ?? []);
}

export function parseJson(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    // A line of another kind; whoever needs JSON there says so.
    return undefined;
  }
}

function compareForm(shown: unknown, came: unknown, at: string, { faults, ids }: Comparison): void {
  if (shown === null || came === null) return;
  if (typeof shown !== typeof came || Array.isArray(shown) !== Array.isArray(came)) {
    faults.push(`${at} is ${JSON.stringify(came)} and not like ${JSON.stringify(shown)}`);
  } else if (typeof shown === 'string' && typeof came === 'string') {
    if (uuid.test(shown) && uuid.test(came)) ids.set(shown, came);
  } else if (typeof shown === 'object' && typeof came === 'object') {
    const theirs = new Map(Object.entries(came));
    for (const [name, value] of Object.entries(shown)) {
      if (theirs.has(name)) compareForm(value, theirs.get(name), `${at}.${name}`, { faults, ids });
      else if (!Array.isArray(shown)) faults.push(`${at} has no ${name}`);
    }
    const shownNames = new Set(Object.keys(shown));
    const more = Array.isArray(shown) ? [] : [...theirs.keys()].filter((name) => !shownNames.has(name));
    if (more.length > 0) faults.push(`${at} has ${more.join(', ')} too, which the page does not show`);
  }
}
