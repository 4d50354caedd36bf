import { exampleIds, exampleTokens } from '../../../src/api/openapi/example-ids.ts';

const ids = [...Object.values(exampleTokens), ...Object.values(exampleIds)].toSorted((a, b) => b.length - a.length);
const idPattern = new RegExp(ids.map((id) => id.replace('.', '\\.')).join('|'), 'g');

/** What is another in every run, and how to know it. */
const volatile: [RegExp, string][] = [
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, '\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z'],
  [/worker:[\w.-]+/g, 'worker:[^\\s"]+'],
  [/\b[0-9a-f]{64}\b/g, '[0-9a-f]{64}'],
  [/whsec_[\w+/=]+/g, 'whsec_[\\w+/=]+'],
  [/semel_[\w-]{43}/g, 'semel_[\\w-]{43}'],
];
/** Measured, and never the same. */
const measured = ['responseTimeMs', 'lagSeconds', 'pending'];

/** Puts real ids in the place of those of the examples, and learns them from answers that show them. */
export class Alignment {
  readonly #real = new Map<string, string>();

  /** The ids in a text that no answer has shown yet. */
  missingIn(text: string): string[] {
    return [...text.matchAll(idPattern)].map(([id]) => id).filter((id) => !this.#real.has(id));
  }

  toReal(text: string): string {
    return text.replaceAll(idPattern, (id) => this.#real.get(id) ?? id);
  }

  /** Where an answer is another than the documented one. What is shown for the first time is learnt. */
  differences(documented: unknown, actual: unknown, path = ''): string[] {
    if (typeof documented === 'string' && typeof actual === 'string')
      return this.#compareTexts(documented, actual, path);
    if (typeof documented !== 'object' || documented === null || typeof actual !== 'object' || actual === null) {
      return Object.is(documented, actual)
        ? []
        : [`${path}: ${JSON.stringify(actual)}, not ${JSON.stringify(documented)}`];
    }
    const names = new Set([...Object.keys(documented), ...Object.keys(actual)]);
    return [...names]
      .filter((name) => !measured.includes(name))
      .flatMap((name) => this.differences(at(documented, name), at(actual, name), `${path}/${name}`));
  }

  #compareTexts(documented: string, actual: string, path: string): string[] {
    const found = [...documented.matchAll(idPattern)].map(([id]) => id);
    const match = toPattern(documented).exec(actual);
    if (!match) return [`${path}: ${JSON.stringify(actual)}, not ${JSON.stringify(documented)}`];
    return found.flatMap((id, index) => {
      const real = match[index + 1] ?? '';
      if (!this.#real.has(id)) this.#real.set(id, real);
      return this.#real.get(id) === real ? [] : [`${path}: ${real} is not what ${id} was before`];
    });
  }
}

function at(value: object, name: string): unknown {
  return (value as Record<string, unknown>)[name];
}

function toPattern(documented: string): RegExp {
  const parts = documented.split(idPattern).map((part) => {
    let source = part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
    for (const [shown, pattern] of volatile) {
      source = part.search(shown) === -1 ? source : escapeAround(part, shown, pattern);
    }
    return source;
  });
  return new RegExp(`^${parts.join('([\\w.-]+?)')}$`, 's');
}

function escapeAround(part: string, shown: RegExp, pattern: string): string {
  return part
    .split(shown)
    .map((text) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
    .join(pattern);
}
