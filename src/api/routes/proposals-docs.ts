import { acceptProposal } from '../../processors/proposals/accept-proposal.ts';
import { createProposal } from '../../processors/proposals/create-proposal.ts';
import { proposalSchema } from '../../processors/proposals/proposal-view.ts';
import { rejectProposal } from '../../processors/proposals/reject-proposal.ts';
import { submitProposal } from '../../processors/proposals/submit-proposal.ts';
import { exampleIds } from '../openapi/example-ids.ts';
import { runs } from '../openapi/operation-docs.ts';
import { type ExampleDocs, type RouteGroup, shows } from '../openapi/route-docs.ts';
import { pageOf } from '../paging.ts';
import { proposalsQuery } from './proposals.ts';

const { customer: customerId, proposal: id, otherProposal: otherId } = exampleIds;
const createdAt = '2026-11-18T08:32:41.930Z';
const draft = { id, customerId, amount: 150_000, status: 'DRAFT', version: 1, createdAt, updatedAt: createdAt };
const otherDraft = { ...draft, id: otherId, amount: 90_000 };
const fromPath = { proposalId: 'id' };

/** One step of a proposal, with the version that it was at. */
const step = (key: string, before: typeof draft, status: string, at: string): ExampleDocs => ({
  path: { id: before.id },
  headers: { 'idempotency-key': key },
  body: { version: before.version },
  answer: { status: 200, body: { ...before, status, version: before.version + 1, updatedAt: at } },
});
const submittedAt = '2026-11-18T08:33:02.284Z';
const decidedAt = '2026-11-18T08:34:10.746Z';
const submitted = { ...draft, status: 'SUBMITTED', version: 2, updatedAt: submittedAt };
const otherSubmitted = { ...otherDraft, status: 'SUBMITTED', version: 2, updatedAt: submittedAt };
const conflict = 'An old version is `VERSION_CONFLICT`; the right version in the wrong state is `INVALID_STATE`.';

export const proposalDocs: RouteGroup = {
  tag: 'Proposals',
  description: 'Proposals go from `DRAFT` to `SUBMITTED`, and then to `ACCEPTED` or `REJECTED`.',
  routes: {
    'POST /v1/proposals': runs(createProposal, {
      summary: 'Create a proposal',
      description: 'It begins as a `DRAFT` of version 1. A replay shows the proposal as it is now.',
      examples: {
        first: {
          headers: { 'idempotency-key': 'proposal-1' },
          body: { customerId, amount: 150_000 },
          answer: { status: 201, body: draft },
        },
        second: {
          headers: { 'idempotency-key': 'proposal-2' },
          body: { customerId, amount: 90_000 },
          answer: { status: 201, body: otherDraft },
        },
      },
    }),
    'GET /v1/proposals': {
      summary: 'List proposals',
      description: 'Newest first, of one customer or of all, in one state or in any.',
      query: proposalsQuery,
      answers: shows('A page of proposals.', pageOf(proposalSchema)),
      examples: {
        drafts: {
          query: { customerId, status: 'DRAFT' },
          answer: { status: 200, body: { items: [otherDraft, draft], nextCursor: null } },
        },
      },
    },
    'GET /v1/proposals/{id}': {
      summary: 'Show a proposal',
      answers: shows('The proposal as it is now.', proposalSchema),
      examples: { first: { path: { id }, answer: { status: 200, body: draft } } },
    },
    'POST /v1/proposals/{id}/submit': runs(submitProposal, {
      summary: 'Submit a proposal',
      description: conflict,
      fromPath,
      examples: {
        first: step('proposal-1', draft, 'SUBMITTED', submittedAt),
        second: step('proposal-2', otherDraft, 'SUBMITTED', submittedAt),
      },
    }),
    'POST /v1/proposals/{id}/accept': runs(acceptProposal, {
      summary: 'Accept a proposal',
      description: conflict,
      fromPath,
      examples: { first: step('proposal-1', submitted, 'ACCEPTED', decidedAt) },
    }),
    'POST /v1/proposals/{id}/reject': runs(rejectProposal, {
      summary: 'Reject a proposal',
      description: conflict,
      fromPath,
      examples: { second: step('proposal-2', otherSubmitted, 'REJECTED', decidedAt) },
    }),
  },
};
