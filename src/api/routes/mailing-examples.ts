import { mailingSchema } from '../mailing-view.ts';
import { exampleIds } from '../openapi/example-ids.ts';
import { type RouteDocs, shows } from '../openapi/route-docs.ts';

/** One of these arrives, one is refused, three stay in doubt, and one is no address. */
export const rows = [
  'email,name',
  'ada@example.com,Ada',
  'refused@example.com,Grace',
  'doubt-1@example.com,Mary',
  'doubt-2@example.com,Emmy',
  'doubt-3@example.com,Sofia',
  'not an address,Nobody',
  '',
].join('\n');

export const mailing = {
  id: exampleIds.mailing,
  filename: 'people.csv',
  status: 'COMPLETED',
  subject: 'Welcome, {{name}}',
  from: 'Semel <no-reply@localhost>',
  ratePerSecond: null,
  totals: {
    lines: 6,
    entries: 6,
    invalid: 1,
    duplicates: 0,
    suppressed: 0,
    pending: 0,
    sent: 1,
    failed: 1,
    unknown: 3,
  },
  failure: null,
  lastError: null as string | null,
  throttledUntil: null,
  createdAt: '2026-11-18T08:36:15.204Z',
  startedAt: '2026-11-18T08:36:15.391Z',
  completedAt: '2026-11-18T08:36:16.027Z' as string | null,
};

/** The mail server asks to try this one later, so that the mailing is under way for a while. */
export const heldRows = 'email\nlater@example.com\n';

export const heldMailing: typeof mailing = {
  ...mailing,
  id: exampleIds.heldMailing,
  filename: 'later.csv',
  status: 'SENDING',
  subject: 'Please confirm your address',
  totals: { ...mailing.totals, lines: 1, entries: 1, invalid: 0, pending: 1, sent: 0, failed: 0, unknown: 0 },
  completedAt: null,
};

/** What a person does to a mailing: each such route reads the same but for its words. */
export const acts = (words: Pick<RouteDocs, 'summary' | 'description'>, after: typeof mailing): RouteDocs => ({
  ...words,
  answers: shows('The mailing as it is now.', mailingSchema),
  problems: ['INVALID_STATE'],
  examples: { act: { path: { id: after.id }, answer: { status: 200, body: after } } },
});
