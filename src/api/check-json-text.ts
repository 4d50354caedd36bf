import { AppError } from '../errors.ts';

const maxDepth = 32;

/** An object or array that the scan is inside of. Only an object has names. */
interface Level {
  names: Set<string> | undefined;
  lastName: string;
}

/**
 * Looks at JSON text for what the parser would accept in silence or choke on: deep nesting, a field given twice (it
 * keeps the last), a fraction too small to tell (it rounds). A linear scan without recursion.
 */
export function checkJsonText(text: string, what = 'body'): void {
  const levels: Level[] = [];
  let lastString = '';
  for (let index = 0; index < text.length; index += 1) {
    const character = text[index];
    if (character === '"') {
      const end = endOfString(text, index);
      lastString = text.slice(index, end + 1);
      index = end;
    } else if (character === '{' || character === '[') {
      if (levels.length === maxDepth) throw invalid(`The ${what} is nested more than ${maxDepth} levels deep.`);
      levels.push({ names: character === '{' ? new Set() : undefined, lastName: '' });
    } else if (character === '}' || character === ']') {
      levels.pop();
    } else if (character === ':') {
      addName(levels, lastString);
    } else if (character === '.') {
      checkFraction(text, index, what);
    }
  }
}

function endOfString(text: string, start: number): number {
  for (let index = start + 1; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code === 0x5c) index += 1;
    else if (code === 0x22) return index;
  }
  return text.length;
}

function addName(levels: readonly Level[], quoted: string): void {
  const level = levels.at(-1);
  if (!level?.names) return;
  level.lastName = quoted.includes('\\') ? String(JSON.parse(quoted)) : quoted.slice(1, -1);
  if (level.names.has(level.lastName)) {
    const path = levels.flatMap(({ names, lastName }) => (names ? [lastName] : [])).join('.');
    const message = 'is given twice';
    throw invalid(`Not valid: ${path.slice(0, 500)} ${message}.`, { errors: [{ path, message }] });
  }
  level.names.add(level.lastName);
}

/** A fraction that is not zero. An exponent may make it whole again, so those are left to the schema. */
const realFraction = /\.\d*[1-9]\d*(?![\deE])/y;
/** More digits before the point than this make no exact number anyway. */
const maxWholeDigits = 20;

function checkFraction(text: string, point: number, what: string): void {
  realFraction.lastIndex = point;
  if (!realFraction.test(text)) return;
  const [whole] = /\d*$/.exec(text.slice(Math.max(0, point - maxWholeDigits), point)) ?? [''];
  if (Number.isInteger(Number(whole + text.slice(point, realFraction.lastIndex)))) {
    throw invalid(`A number in the ${what} has more digits than can be kept.`);
  }
}

function invalid(detail: string, extra: Record<string, unknown> = {}): AppError {
  return new AppError('INVALID_REQUEST', detail, { extra });
}
