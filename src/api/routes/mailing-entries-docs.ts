import { z } from 'zod';
import { entrySchema } from '../mailing-view.ts';
import { exampleIds, exampleTokens } from '../openapi/example-ids.ts';
import { type RouteDocs, type RouteGroup, shows } from '../openapi/route-docs.ts';
import { pageOf } from '../paging.ts';
import { entriesQuery, line, previewQuery, previewSchema } from './mailing-entries.ts';
import { acts, mailing } from './mailing-examples.ts';
import { resolution } from './mailings.ts';

const id = exampleIds.mailing;
const doubted = {
  line: 4,
  email: 'doubt-1@example.com',
  status: 'UNKNOWN',
  attempts: 1,
  externalId: null,
  invalidReason: null,
  text: null,
  lastError: 'The connection was lost after the mail was sent and before it was answered.' as string | null,
  nextAttemptAt: null,
  sentAt: null as string | null,
  verifiedAt: null,
};
const refused = {
  ...doubted,
  line: 3,
  email: 'refused@example.com',
  status: 'FAILED',
  lastError: "Can't send mail - all recipients were rejected: 550 not now",
};
const resolved = { ...doubted, status: 'SENT', lastError: 'They told me.', sentAt: '2026-11-18T08:39:50.318Z' };
const sending = {
  ...mailing,
  status: 'SENDING',
  totals: { ...mailing.totals, pending: 1, failed: 0 },
  completedAt: null,
};
const unsubscribeUrl = `http://127.0.0.1:3000/u/${exampleTokens.unsubscribe}`;

/** What can be done to one row in doubt. */
const ofOne: Pick<RouteDocs, 'path' | 'answers' | 'problems'> = {
  path: { line: line.describe('The line of the file.') },
  answers: shows('The entry as it is now.', entrySchema),
  problems: ['INVALID_STATE'],
};

export const entryDocs: RouteGroup = {
  tag: 'Entries of a mailing',
  description: 'The rows of the file. Each is known by its line.',
  routes: {
    'GET /v1/mailings/{id}/entries': {
      summary: 'List the entries of a mailing',
      description: 'By line. With `Accept: text/csv`, all of them as a file that is safe to open in a spreadsheet.',
      query: entriesQuery,
      answers: {
        200: {
          description: 'A page of entries, or the file.',
          body: pageOf(entrySchema),
          otherTypes: { 'text/csv': z.string() },
          headers: ['Content-Disposition'],
        },
      },
      examples: {
        failed: {
          path: { id },
          query: { status: 'FAILED' },
          answer: { status: 200, body: { items: [refused], nextCursor: null } },
        },
        spreadsheet: {
          path: { id },
          query: { status: 'INVALID' },
          headers: { accept: 'text/csv' },
          answer: {
            status: 200,
            type: 'text/csv',
            body: 'line,email,status,attempts,externalId,invalidReason,lastError,sentAt,verifiedAt\n7,not an address,INVALID,0,,syntax,,,\n',
          },
        },
      },
    },
    'GET /v1/mailings/{id}/preview': {
      summary: 'Show a mail as it will be',
      description: 'That of the line, or of the first row with an address.',
      query: previewQuery,
      answers: shows('The mail.', previewSchema),
      examples: {
        ada: {
          path: { id },
          query: { line: '2' },
          answer: {
            status: 200,
            body: {
              from: mailing.from,
              to: 'ada@example.com',
              subject: 'Welcome, Ada',
              text: `Hello Ada,\n\nplease confirm your address: http://127.0.0.1:3000/v/${exampleTokens.verify}\n`,
              messageId: `<${id}.2@localhost>`,
              unsubscribeUrl,
            },
          },
        },
      },
    },
    'POST /v1/mailings/{id}/entries/{line}/resolve': {
      ...ofOne,
      summary: 'Say what became of one mail in doubt',
      description: '`applied` makes it `SENT`, `not_applied` makes it `FAILED`.',
      body: resolution,
      examples: {
        arrived: {
          path: { id, line: '4' },
          body: { outcome: 'applied', note: 'They told me.' },
          answer: { status: 200, body: resolved },
        },
      },
    },
    'POST /v1/mailings/{id}/entries/{line}/resend': {
      ...ofOne,
      summary: 'Send one mail in doubt again',
      description: 'It may arrive twice, with the same `Message-ID`.',
      examples: {
        again: {
          path: { id, line: '5' },
          answer: {
            status: 200,
            body: {
              ...doubted,
              line: 5,
              email: 'doubt-2@example.com',
              status: 'PENDING',
              attempts: 0,
              lastError: 'sent again',
            },
          },
        },
      },
    },
    'POST /v1/mailings/{id}/resolve-unknown': {
      ...acts({ summary: 'Say what became of mails in doubt', description: 'All of them at once.' }, mailing),
      body: resolution,
      examples: {
        act: {
          path: { id },
          body: { outcome: 'applied', note: 'The log of the mail server has them.' },
          answer: { status: 200, body: mailing },
        },
      },
    },
    'POST /v1/mailings/{id}/resend-unknown': acts(
      { summary: 'Send all mails in doubt again', description: 'They may arrive twice.' },
      sending,
    ),
    'POST /v1/mailings/{id}/retry-failed': acts(
      { summary: 'Send failed mails again', description: 'Only those that failed, with all their attempts.' },
      sending,
    ),
  },
};
