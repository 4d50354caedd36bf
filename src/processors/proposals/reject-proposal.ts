import { defineOperation, printableKey } from '../define-operation.ts';
import { showProposal } from './proposal-view.ts';
import { applyTransition, transitionRequest, transitions } from './transitions.ts';

export const rejectProposal = defineOperation({
  name: 'proposal.reject',
  request: transitionRequest,
  key: { required: false, pattern: printableKey },
  onMismatch: 'replay',
  replay: showProposal,
  process: (request, context) => applyTransition(transitions.reject, request, context),
});
