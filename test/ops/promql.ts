/** A metric that an expression reads, and the labels that it asks it for. */
export interface Selector {
  metric: string;
  labels: string[];
}

const words = new Set([
  'by',
  'without',
  'on',
  'ignoring',
  'group_left',
  'group_right',
  'and',
  'or',
  'unless',
  'bool',
  'offset',
]);
const name = /[a-zA-Z_:][\w:]*/g;

/** What a PromQL expression reads. Enough of its grammar for expressions without subqueries and label functions. */
export function selectorsOf(expression: string): Selector[] {
  const grouped = [...expression.matchAll(/\b(?:by|on)\s*\(([^)]*)\)/g)].flatMap(([, list = '']) => namesIn(list));
  const matched: Record<string, string[]> = {};
  const bare = expression
    .replace(/\b(?:by|on|without|ignoring|group_left|group_right)\s*\([^)]*\)/g, ' ')
    .replace(/"[^"]*"/g, '""')
    .replace(/\[[^\]]*\]/g, ' ')
    .replace(/([a-zA-Z_:][\w:]*)\s*\{([^}]*)\}/g, (_, metric: string, matchers: string) => {
      matched[metric] = [...(matched[metric] ?? []), ...namesIn(matchers)];
      return metric;
    });
  const metrics = [...bare.matchAll(name)]
    .filter(({ 0: word, index }) => !words.has(word) && !/^\s*\(/.test(bare.slice(index + word.length)))
    .map(([word]) => word);
  return [...new Set(metrics)].map((metric) => ({ metric, labels: [...(matched[metric] ?? []), ...grouped] }));
}

function namesIn(list: string): string[] {
  return [...list.replace(/"[^"]*"/g, '').matchAll(name)].map(([word]) => word);
}
