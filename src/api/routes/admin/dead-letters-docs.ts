import { z } from 'zod';
import { id } from '../../../processors/fields.ts';
import { deadLetterSchema, dryRunSchema } from '../../admin-view.ts';
import { exampleIds } from '../../openapi/example-ids.ts';
import { type RouteGroup, shows } from '../../openapi/route-docs.ts';
import { pageOf } from '../../paging.ts';
import { deadLettersQuery, discarding, retryBody } from './dead-letters.ts';

const letter = {
  id: exampleIds.deadLetter,
  client: 'default',
  subClient: null,
  operation: 'transfer.create',
  operationId: exampleIds.failedTransfer,
  key: 'example-failed-1',
  attempts: 1,
  error: { code: 'OPERATION_FAILED', message: 'the disk is full' },
  createdAt: '2026-11-18T08:50:01.337Z',
  currentStatus: 'FAILED',
  effect: 'not_applied',
  retryable: true,
};
const { otherDeadLetter, otherFailedTransfer, mailDeadLetter, mailing: mailingId } = exampleIds;
const other = { ...letter, id: otherDeadLetter, operationId: otherFailedTransfer, key: 'example-failed-2' };
const { operationId: _, key: __, ...ofMail } = letter;
const mail = {
  ...ofMail,
  id: mailDeadLetter,
  operation: 'mailing.send',
  mailingId,
  line: 3,
  error: { code: 'MAIL_FAILED', message: "Can't send mail - all recipients were rejected: 550 not now" },
};

export const deadLetterDocs: RouteGroup = {
  tag: 'Dead letters',
  description: 'For operators: what gave up and was not tried again since, operations and mails of mailings.',
  routes: {
    'GET /v1/admin/dead-letters': {
      summary: 'List dead letters',
      description: 'Newest first. Each filter is optional.',
      query: deadLettersQuery,
      answers: shows('A page of dead letters.', pageOf(deadLetterSchema)),
      examples: {
        transfers: {
          query: { operation: 'transfer.create', code: 'OPERATION_FAILED' },
          answer: { status: 200, body: { items: [other, letter], nextCursor: null } },
        },
        mails: {
          query: { mailing: mailingId },
          answer: { status: 200, body: { items: [mail], nextCursor: null } },
        },
      },
    },
    'GET /v1/admin/dead-letters/{id}': {
      summary: 'Show a dead letter',
      answers: shows('The dead letter.', deadLetterSchema),
      examples: { transfer: { path: { id: otherDeadLetter }, answer: { status: 200, body: other } } },
    },
    'POST /v1/admin/dead-letters/{id}/retry': {
      summary: 'Retry a dead letter',
      description: 'A record begins anew; a mail is sent again by its mailing.',
      answers: {
        202: {
          description: 'It is queued.',
          body: z.strictObject({
            id: z.guid(),
            operationId: id.optional(),
            key: z.string().nullable().optional(),
            mailingId: id.optional(),
            line: z.int().optional(),
            retried: z.literal(true),
          }),
        },
      },
      problems: ['INVALID_STATE'],
      examples: {
        transfer: {
          path: { id: otherDeadLetter },
          answer: {
            status: 202,
            body: { id: otherDeadLetter, operationId: otherFailedTransfer, key: 'example-failed-2', retried: true },
          },
        },
      },
    },
    'POST /v1/admin/dead-letters/retry': {
      summary: 'Retry many dead letters',
      description: 'Oldest first, in small steps. If something remains, call again. A dry run changes nothing.',
      body: retryBody,
      answers: {
        200: { description: 'What would run, and which effects already happened.', body: dryRunSchema },
        202: {
          description: 'How many run again.',
          body: z.strictObject({ dryRun: z.literal(false), retried: z.int(), remaining: z.int() }),
        },
      },
      examples: {
        dryRun: {
          body: { filter: { operation: 'account.open' }, dryRun: true },
          answer: {
            status: 200,
            body: {
              dryRun: true,
              matching: 0,
              wouldRun: 0,
              effects: { applied: 0, not_applied: 0, unknown: 0 },
              byOperation: [],
              items: [],
            },
          },
        },
        retry: {
          body: { filter: { operation: 'account.open', since: '2026-11-18T00:00:00Z' } },
          answer: { status: 202, body: { dryRun: false, retried: 0, remaining: 0 } },
        },
      },
    },
    'DELETE /v1/admin/dead-letters/{id}': {
      summary: 'Discard a dead letter',
      description: 'The reason may be sent as JSON in the body instead. It is kept with who discarded what.',
      query: discarding,
      answers: { 204: { description: 'It is gone from the list.' } },
      problems: ['TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE'],
      examples: {
        mail: { path: { id: mailDeadLetter }, query: { reason: 'the address is wrong' }, answer: { status: 204 } },
      },
    },
  },
};
