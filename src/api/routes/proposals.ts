import { Hono } from 'hono';
import { z } from 'zod';
import { AppError } from '../../errors.ts';
import { id } from '../../processors/fields.ts';
import { acceptProposal } from '../../processors/proposals/accept-proposal.ts';
import { createProposal } from '../../processors/proposals/create-proposal.ts';
import { proposalView } from '../../processors/proposals/proposal-view.ts';
import { rejectProposal } from '../../processors/proposals/reject-proposal.ts';
import { submitProposal } from '../../processors/proposals/submit-proposal.ts';
import { findProposal, listProposals, proposalStatuses } from '../../store/proposals.ts';
import type { ApiContext, ApiEnv, ApiParts } from '../api-env.ts';
import { jsonResponse } from '../json-response.ts';
import { operationRoute } from '../operation-route.ts';
import { decodeCursor, pageQuery, toPage } from '../paging.ts';
import { readId } from '../read-id.ts';
import { validate } from '../read-json.ts';

export const proposalsQuery = z.strictObject({
  customerId: id.optional(),
  status: z.enum(proposalStatuses).optional(),
  ...pageQuery,
});

const proposalIdOf = (c: ApiContext) => ({ proposalId: readId(c) });

export function proposalRoutes(parts: ApiParts): Hono<ApiEnv> {
  return new Hono<ApiEnv>()
    .post('/', operationRoute(parts, createProposal))
    .post('/:id/submit', operationRoute(parts, submitProposal, proposalIdOf))
    .post('/:id/accept', operationRoute(parts, acceptProposal, proposalIdOf))
    .post('/:id/reject', operationRoute(parts, rejectProposal, proposalIdOf))
    .get('/', async (c) => {
      const { limit, cursor, ...filter } = validate(proposalsQuery, c.req.query());
      const before = decodeCursor(cursor, z.uuid());
      const rows = await listProposals(parts.db, c.get('caller').client, filter, { limit: limit + 1, before });
      return jsonResponse(c, toPage(rows, limit, proposalView));
    })
    .get('/:id', async (c) => {
      const proposal = await findProposal(parts.db, c.get('caller').client, readId(c));
      if (!proposal) throw new AppError('NOT_FOUND', 'There is no such proposal.');
      return jsonResponse(c, proposalView(proposal));
    });
}
