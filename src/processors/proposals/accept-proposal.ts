import { defineOperation, printableKey } from '../define-operation.ts';
import { proposalSchema, showProposal } from './proposal-view.ts';
import { applyTransition, transitionRejects, transitionRequest, transitions } from './transitions.ts';

export const acceptProposal = defineOperation({
  name: 'proposal.accept',
  request: transitionRequest,
  success: { status: 200, body: proposalSchema },
  rejects: transitionRejects,
  key: { required: false, pattern: printableKey },
  onMismatch: 'replay',
  replay: showProposal,
  process: (request, context) => applyTransition(transitions.accept, request, context),
});
