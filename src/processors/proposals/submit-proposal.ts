import { defineOperation, printableKey } from '../define-operation.ts';
import { showProposal } from './proposal-view.ts';
import { applyTransition, transitionRequest, transitions } from './transitions.ts';

export const submitProposal = defineOperation({
  name: 'proposal.submit',
  request: transitionRequest,
  key: { required: false, pattern: printableKey },
  onMismatch: 'replay',
  replay: showProposal,
  process: (request, context) => applyTransition(transitions.submit, request, context),
});
