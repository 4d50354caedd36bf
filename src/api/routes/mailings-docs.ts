import { z } from 'zod';
import { printableKey } from '../../processors/define-operation.ts';
import { historySchema, mailingSchema, uploadedMailingSchema } from '../mailing-view.ts';
import type { ResponseHeader } from '../openapi/headers.ts';
import { type RouteGroup, shows } from '../openapi/route-docs.ts';
import { pageOf } from '../paging.ts';
import { uploadFields, uploadQuery } from '../upload/upload-fields.ts';
import { acts, heldMailing, heldRows, mailing, rows } from './mailing-examples.ts';
import { mailingsQuery } from './mailings.ts';

const { id, filename } = mailing;
const uploaded = { mailingId: id, filename, status: 'QUEUED', created: true };
const form = {
  subject: 'Welcome, {{name}}',
  text: 'Hello {{name}},\n\nplease confirm your address: {{verifyUrl}}\n',
  file: rows,
};
const csvFile = z.string().meta({ documentedAs: { type: 'string', contentMediaType: 'text/csv' } });
const headers: ResponseHeader[] = ['Operation-Id', 'Idempotent-Replayed', 'Location'];

export const mailingDocs: RouteGroup = {
  tag: 'Mailings',
  description: 'A CSV file is uploaded once, and each address in it gets one mail.',
  routes: {
    'POST /v1/mailings': {
      summary: 'Upload a file and mail each address in it',
      description:
        'The header needs a column `email`; the other columns are fields for the texts, such as `{{name}}`. ' +
        'The same file again is the same mailing: by filename, by content, or by a key of yours. ' +
        'In a form, the fields come before the file.',
      key: { required: false, pattern: printableKey },
      query: uploadQuery,
      otherBodies: { 'multipart/form-data': uploadFields.extend({ file: csvFile }), 'text/csv': csvFile },
      answers: {
        202: { description: 'The file is safe, and its mailing begins.', body: uploadedMailingSchema, headers },
        200: { description: 'This file was uploaded before.', body: uploadedMailingSchema, headers },
      },
      problems: [
        'CSV_INVALID',
        'CSV_EMPTY',
        'TEMPLATE_INVALID',
        'FILENAME_REUSED',
        'INCONSISTENT_REQUEST',
        'NOT_FOUND',
      ],
      examples: {
        form: {
          headers: { 'content-type': 'multipart/form-data' },
          body: form,
          answer: { status: 202, body: uploaded },
        },
        again: {
          headers: { 'content-type': 'multipart/form-data' },
          body: form,
          answer: { status: 200, body: { ...uploaded, created: false, matchedBy: 'filename' } },
        },
        csv: {
          query: { filename: heldMailing.filename },
          headers: { 'content-type': 'text/csv' },
          body: heldRows,
          answer: { status: 202, body: { ...uploaded, mailingId: heldMailing.id, filename: heldMailing.filename } },
        },
      },
    },
    'GET /v1/mailings': {
      summary: 'List mailings',
      description: 'Newest first.',
      query: mailingsQuery,
      answers: shows('A page of mailings.', pageOf(mailingSchema)),
      examples: {
        completed: {
          query: { status: 'COMPLETED' },
          answer: { status: 200, body: { items: [mailing], nextCursor: null } },
        },
      },
    },
    'GET /v1/mailings/{id}': {
      summary: 'Show a mailing',
      answers: shows('The mailing as it is now.', mailingSchema),
      examples: { completed: { path: { id }, answer: { status: 200, body: mailing } } },
    },
    'GET /v1/mailings/{id}/events': {
      summary: 'Watch the progress of a mailing',
      description: 'Server-sent events `progress`: one at once, one for each change. The stream ends with the last.',
      answers: {
        200: { description: 'Events whose data is the mailing.', otherTypes: { 'text/event-stream': z.string() } },
      },
      examples: {
        completed: {
          path: { id },
          answer: {
            status: 200,
            type: 'text/event-stream',
            body: `event: progress\ndata: ${JSON.stringify(mailing)}\n\n`,
          },
        },
      },
    },
    'GET /v1/mailings/{id}/history': {
      summary: 'Show who did what to a mailing',
      answers: shows('Each change, in order.', z.strictObject({ items: z.array(historySchema) })),
      examples: {
        completed: {
          path: { id },
          answer: {
            status: 200,
            body: {
              items: [
                { at: mailing.createdAt, from: null, to: 'QUEUED', actor: 'client:default', detail: null },
                { at: mailing.createdAt, from: 'QUEUED', to: 'INGESTING', actor: 'worker:b1946ac9', detail: null },
                { at: mailing.startedAt, from: 'INGESTING', to: 'SENDING', actor: 'worker:b1946ac9', detail: null },
                { at: mailing.completedAt, from: 'SENDING', to: 'COMPLETED', actor: 'worker:b1946ac9', detail: null },
              ],
            },
          },
        },
      },
    },
    'POST /v1/mailings/{id}/pause': acts(
      {
        summary: 'Pause a mailing',
        description: 'Nothing new is begun; what is on its way to a mail server is finished.',
      },
      { ...heldMailing, status: 'PAUSED' },
    ),
    'POST /v1/mailings/{id}/resume': acts(
      { summary: 'Resume a mailing', description: 'It goes on where it was.' },
      heldMailing,
    ),
    'POST /v1/mailings/{id}/cancel': acts(
      { summary: 'Cancel a mailing', description: 'It cannot be resumed.' },
      { ...heldMailing, status: 'CANCELLED', completedAt: '2026-11-18T08:38:27.533Z' },
    ),
  },
};
