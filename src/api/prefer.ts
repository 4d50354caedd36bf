import { AppError } from '../errors.ts';

export interface Preferences {
  waitMs: number;
  /** A duplicate of something in flight is told so instead of attaching to it. */
  strict: boolean;
  /** What was understood, for the header Preference-Applied. */
  applied: string | undefined;
}

const maxWaitSeconds = 60;

/** One preference with its parameters: commas separate them, except inside of quotes. */
const preferencePattern = /(?:"[^"]*"|[^,])+/g;

/** Reads `Prefer` (RFC 7240). Preferences that we do not know are ignored, as it asks for. */
export function readPreferences(header: string | undefined, defaultWaitSeconds: number): Preferences {
  if (header === undefined) return { waitMs: defaultWaitSeconds * 1000, strict: false, applied: undefined };
  // Of a preference given twice the first one counts (RFC 7240, section 2), hence the reverse order.
  const given = new Map((header.match(preferencePattern) ?? []).map(parsePreference).reverse());
  const waitSeconds = readWait(given.get('wait'));
  const isAsync = given.has('respond-async');
  const strict = given.get('handling') === 'strict';
  const applied = [
    isAsync && 'respond-async',
    waitSeconds !== undefined && `wait=${waitSeconds}`,
    strict && 'handling=strict',
  ].filter((text) => text !== false);
  return {
    waitMs: (waitSeconds ?? (isAsync ? 0 : defaultWaitSeconds)) * 1000,
    strict,
    applied: applied.length > 0 ? applied.join(', ') : undefined,
  };
}

function parsePreference(text: string): [string, string] {
  const [preference = ''] = text.split(';', 1);
  const equals = preference.indexOf('=');
  const name = equals === -1 ? preference : preference.slice(0, equals);
  const value = equals === -1 ? '' : preference.slice(equals + 1);
  return [name.trim().toLowerCase(), value.trim().replace(/^"(.*)"$/, '$1')];
}

function readWait(value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const seconds = /^\d{1,9}$/.test(value) ? Number(value) : Number.NaN;
  if (seconds <= maxWaitSeconds) return seconds;
  const message = `wait must be a whole number of seconds from 0 to ${maxWaitSeconds}`;
  throw new AppError('INVALID_REQUEST', `Prefer: ${message}.`, { extra: { errors: [{ path: 'Prefer', message }] } });
}
