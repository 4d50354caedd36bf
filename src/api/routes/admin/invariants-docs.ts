import { z } from 'zod';
import { exampleIds } from '../../openapi/example-ids.ts';
import { type RouteGroup, shows } from '../../openapi/route-docs.ts';
import { pageOf } from '../../paging.ts';
import { acknowledgement, faultSchema, faultsQuery, invariantSchema } from './invariants.ts';

const note = 'told those who got it twice';
const fault = {
  id: exampleIds.fault,
  invariant: 'entries_sent_twice',
  subject: `entry:${exampleIds.faultyMailing}:7`,
  detail: { mailingId: exampleIds.faultyMailing, line: 7, claims: [1, 2] },
  foundAt: '2026-11-18T08:41:12.075Z',
  acknowledgedAt: null,
  acknowledgedBy: null,
  note: null,
};
const acknowledged = {
  ...fault,
  acknowledgedAt: '2026-11-18T08:52:40.318Z',
  acknowledgedBy: `admin:default:${exampleIds.operatorKey}`,
  note,
};
const checked = { violations: 0, checkedAt: '2026-11-18T08:52:31.902Z' };
const names = ['entries_sent_twice', 'ledger_imbalance', 'unfinished_without_job'];

export const invariantDocs: RouteGroup = {
  tag: 'Invariants',
  description: 'What must never be, and is looked for all the time: the runbook says what to do about each.',
  routes: {
    'GET /v1/admin/invariants': {
      summary: 'Say whether the invariants hold',
      description: 'How many violations are known, and when that was last checked. A scrape of `/metrics` checks.',
      answers: shows('All invariants.', pageOf(invariantSchema)),
      examples: {
        all: {
          answer: {
            status: 200,
            body: { items: names.map((invariant) => ({ invariant, ...checked })), nextCursor: null },
          },
        },
      },
    },
    'GET /v1/admin/invariants/faults': {
      summary: 'List what was found',
      description: 'A fault goes away when it is mended. One that cannot be mended stays, and can be acknowledged.',
      query: faultsQuery,
      answers: shows('A page of faults.', pageOf(faultSchema)),
      examples: {
        first: { query: { limit: '1' }, answer: { status: 200, body: { items: [fault], nextCursor: null } } },
      },
    },
    'POST /v1/admin/invariants/faults/{id}/acknowledge': {
      summary: 'Acknowledge a fault',
      description: 'It counts as a violation no more, unless it happens again.',
      path: { id: z.uuid().describe('The fault.') },
      body: acknowledgement,
      answers: shows('The fault, with who has seen it.', faultSchema),
      problems: ['NOT_FOUND'],
      examples: {
        seen: { path: { id: exampleIds.fault }, body: { note }, answer: { status: 200, body: acknowledged } },
      },
    },
  },
};
