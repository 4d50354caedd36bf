import { z } from 'zod';
import { findProposal, type ProposalRow, type ProposalStatus, updateProposalStatus } from '../../store/proposals.ts';
import type { ProcessContext } from '../define-operation.ts';
import { type ProcessOutcome, type Rejected, type RetryLater, rejected, retryLater, succeeded } from '../outcomes.ts';
import { proposalView } from './proposal-view.ts';

export interface Transition {
  from: ProposalStatus;
  to: ProposalStatus;
  event: string;
}

/** The whole diagram: DRAFT → SUBMITTED → ACCEPTED | REJECTED. */
export const transitions = {
  submit: { from: 'DRAFT', to: 'SUBMITTED', event: 'proposal.submitted' },
  accept: { from: 'SUBMITTED', to: 'ACCEPTED', event: 'proposal.accepted' },
  reject: { from: 'SUBMITTED', to: 'REJECTED', event: 'proposal.rejected' },
} as const satisfies Record<string, Transition>;

export const transitionRequest = z.strictObject({
  // As loose as an id in a path: one that cannot exist is answered like one that does not.
  proposalId: z.guid().toLowerCase(),
  // The version that the caller saw. The column is an integer of 32 bits.
  version: z.int().min(1).max(2_147_483_647),
});

/** Why a proposal stays as it is. */
export const transitionRejects = ['NOT_FOUND', 'VERSION_CONFLICT', 'INVALID_STATE'] as const;
type TransitionCode = (typeof transitionRejects)[number];

export type TransitionRequest = z.infer<typeof transitionRequest>;

export async function applyTransition(
  transition: Transition,
  { proposalId, version }: TransitionRequest,
  { tx, record }: ProcessContext,
): Promise<ProcessOutcome<TransitionCode>> {
  const { client } = record;
  const { from, to } = transition;
  const proposal = await updateProposalStatus(tx, { id: proposalId, client, version, from, to });
  if (!proposal) return explainRefusal(transition, version, await findProposal(tx, client, proposalId));
  const view = proposalView(proposal);
  const events = [{ type: transition.event, data: view }];
  return succeeded(200, view, { resource: { type: 'proposal', id: proposal.id }, events });
}

/**
 * Why the update touched nothing. The version goes first: who saw an old one knows nothing of the state either, and
 * should look again before anything else.
 */
export function explainRefusal(
  transition: Transition,
  version: number,
  current: Pick<ProposalRow, 'status' | 'version'> | undefined,
): Rejected<TransitionCode> | RetryLater {
  if (!current) return rejected('NOT_FOUND', 'There is no such proposal.');
  const extra = { currentVersion: current.version, currentStatus: current.status };
  if (current.version !== version) {
    return rejected('VERSION_CONFLICT', `The proposal is at version ${current.version}, not ${version}.`, { extra });
  }
  if (current.status !== transition.from) {
    const detail = `The proposal is ${current.status}; only from ${transition.from} can it become ${transition.to}.`;
    return rejected('INVALID_STATE', detail, { extra });
  }
  // It came to fit after the update had looked at it. To refuse it now would be untrue.
  return retryLater(0);
}
