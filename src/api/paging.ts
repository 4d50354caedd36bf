import { z } from 'zod';
import { AppError } from '../errors.ts';

const maxLimit = 200;
/** The longest address is what a cursor may hold, in base64. */
const maxCursorLength = 700;

/** A whole number in a query, and what it is if it is left out. */
export function wholeNumber(min: number, max: number, fallback: number) {
  return z
    .string()
    .regex(/^\d{1,9}$/, 'must be a whole number')
    .transform(Number)
    .refine((number) => number >= min && number <= max, `must be between ${min} and ${max}`)
    .default(fallback)
    .meta({ documentedAs: { type: 'integer', minimum: min, maximum: max, default: fallback } });
}

/** The query parameters that every list has. */
export const pageQuery = {
  limit: wholeNumber(1, maxLimit, 50),
  cursor: z.string().max(maxCursorLength).optional().describe('The `nextCursor` of the page before.'),
};

/** A cursor is the last id of a page, wrapped so that nobody builds on what is inside. */
export function encodeCursor(id: string | number): string {
  return Buffer.from(String(id)).toString('base64url');
}

export function decodeCursor<T>(cursor: string | undefined, id: z.ZodType<T>): T | undefined {
  if (cursor === undefined) return undefined;
  const text = Buffer.from(cursor, 'base64url').toString();
  const parsed = id.safeParse(text);
  // Buffer skips what is not base64url, so the way back tells whether this was ever a cursor.
  if (parsed.success && encodeCursor(text) === cursor) return parsed.data;
  const message = 'is not a cursor of this list';
  throw new AppError('INVALID_REQUEST', `cursor ${message}.`, { extra: { errors: [{ path: 'cursor', message }] } });
}

/** The form of every list. */
export function pageOf<Item extends z.ZodType>(item: Item) {
  const nextCursor = z.string().nullable().describe('For the next page; null on the last.');
  return z.strictObject({ items: z.array(item), nextCursor });
}

/** Rows are read one beyond the limit, which tells whether there is a next page. */
export function toPage<Row extends { id: string | number }, View>(
  rows: readonly Row[],
  limit: number,
  view: (row: Row) => View,
) {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return { items: shown.map(view), nextCursor: rows.length > limit && last ? encodeCursor(last.id) : null };
}
