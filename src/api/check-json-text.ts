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
    } else if (character !== undefined && character >= '0' && character <= '9') {
      index = checkNumber(text, index, what);
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

const number = /(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?/y;

/** Refuses a fraction that would become a whole number. Returns where the number ends. */
function checkNumber(text: string, start: number, what: string): number {
  number.lastIndex = start;
  const [token = '', whole = '', fraction = '', exponent = '0'] = number.exec(text) ?? [];
  const isPlain = token.length === whole.length;
  if (!isPlain && Number.isInteger(Number(token)) && countDecimals(whole + fraction, fraction.length, exponent) > 0) {
    throw invalid(`A number in the ${what} has more digits than can be kept.`);
  }
  return start + token.length - 1;
}

/** How many digits stand behind the point once the exponent has moved it, without zeros at the end. */
function countDecimals(digits: string, behindPoint: number, exponent: string): number {
  let last = digits.length;
  while (digits[last - 1] === '0') last -= 1;
  return last === 0 ? 0 : behindPoint - Number(exponent) - (digits.length - last);
}

function invalid(detail: string, extra: Record<string, unknown> = {}): AppError {
  return new AppError('INVALID_REQUEST', detail, { extra });
}
