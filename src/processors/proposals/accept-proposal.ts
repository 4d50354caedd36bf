import { defineOperation, printableKey } from '../define-operation.ts';
import { showProposal } from './proposal-view.ts';
import { applyTransition, transitionRequest, transitions } from './transitions.ts';

export const acceptProposal = defineOperation({
  name: 'proposal.accept',
  request: transitionRequest,
  key: { required: false, pattern: printableKey },
  onMismatch: 'replay',
  replay: showProposal,
  process: (request, context) => applyTransition(transitions.accept, request, context),
});
