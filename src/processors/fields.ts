import { z } from 'zod';

/** Amounts of minor units. Beyond 2^53 - 1 a JSON number is no longer exact. */
export const amount = z.int().min(1);
export const amountOrZero = z.int().min(0);

/** Text for people: no control characters, which some consumer down the line would stumble over. */
export const text = (maxLength: number) =>
  z
    .string()
    .max(maxLength)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused here.
    .regex(/^[^\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]*$/, 'must not contain control characters');

export const id = z.uuid().toLowerCase();

/** A moment as every answer writes it: ISO 8601 in UTC. */
export const instant = z.iso.datetime();
