/** The weights of each check digit. They are applied to all digits before it. */
const schemes = [
  { digits: 11, weights: [range(10, 2), range(11, 2)] },
  {
    digits: 14,
    weights: [
      [...range(5, 2), ...range(9, 2)],
      [...range(6, 2), ...range(9, 2)],
    ],
  },
] as const;

/**
 * Whether a document may be kept. Eleven digits are a CPF and fourteen a CNPJ, however they are punctuated, and their
 * check digits must be right. Anything else is taken as it is.
 */
export function isPlausibleDocument(document: string): boolean {
  if (!/^[\d./ -]+$/.test(document)) return true;
  const digits = Array.from(document.replace(/\D/g, ''), Number);
  const scheme = schemes.find((known) => known.digits === digits.length);
  if (!scheme) return true;
  // One digit repeated passes the sums but is given to nobody.
  const isRepeated = digits.every((digit) => digit === digits[0]);
  return !isRepeated && scheme.weights.every((weights) => digits[weights.length] === checkDigitOf(digits, weights));
}

/** Modulo 11: a rest of 0 or 1 gives 0, any other its distance from 11. */
function checkDigitOf(digits: readonly number[], weights: readonly number[]): number {
  const rest = weights.reduce((sum, weight, index) => sum + weight * (digits[index] ?? 0), 0) % 11;
  return rest < 2 ? 0 : 11 - rest;
}

/** Counts down from one number to another, both included. */
function range(from: number, to: number): number[] {
  return Array.from({ length: from - to + 1 }, (_, index) => from - index);
}
