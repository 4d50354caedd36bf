import { UnstorableResultError } from './errors.ts';

/** No JSON text begins with it, so that no result can be taken for a refusal. */
const refusal = '!';

/** A result as text: JSON, nothing for undefined, or why it could not be kept. */
export function encodeResult(result: unknown, maxResultBytes: number): string {
  let text: string;
  try {
    text = JSON.stringify(result) ?? '';
  } catch {
    return `${refusal}not-json ${maxResultBytes}`;
  }
  return Buffer.byteLength(text) > maxResultBytes ? `${refusal}too-big ${maxResultBytes}` : text;
}

/** The first caller and all later ones get their result from here, so that they get the same. */
export function decodeResult(text: string): unknown {
  if (text === '') return undefined;
  if (!text.startsWith(refusal)) return JSON.parse(text);
  const [reason, bound] = text.slice(refusal.length).split(' ');
  throw new UnstorableResultError(reason === 'too-big' ? 'too-big' : 'not-json', Number(bound));
}
