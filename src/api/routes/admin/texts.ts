import { z } from 'zod';

/** What an operator says about an action. Postgres refuses NUL in a text. */
const text = z
  .string()
  .trim()
  .max(500)
  .refine((value) => !value.includes('\0'), 'must not contain NUL');

export const optionalText = text.optional();
export const requiredText = text.min(1, 'must say why');

/** A part of a filter. */
export const filterText = text.min(1);
