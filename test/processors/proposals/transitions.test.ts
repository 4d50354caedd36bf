import { describe, expect, it } from 'vitest';
import { explainRefusal, transitions } from '../../../src/processors/proposals/transitions.ts';

const { submit, accept } = transitions;

describe('a transition that touched nothing', () => {
  it('of a proposal that is not there is not found', () => {
    expect(explainRefusal(submit, 1, undefined)).toMatchObject({ code: 'NOT_FOUND' });
  });

  it('with an old version is a conflict that names the current one, also if the state is wrong too', () => {
    for (const status of ['DRAFT', 'SUBMITTED', 'ACCEPTED', 'REJECTED'] as const) {
      const refusal = explainRefusal(submit, 1, { status, version: 2 });
      expect(refusal).toMatchObject({ code: 'VERSION_CONFLICT', extra: { currentVersion: 2, currentStatus: status } });
    }
  });

  it('with the right version is in the wrong state', () => {
    const refusal = explainRefusal(accept, 1, { status: 'DRAFT', version: 1 });
    expect(refusal).toMatchObject({ code: 'INVALID_STATE', extra: { currentVersion: 1, currentStatus: 'DRAFT' } });
  });

  it('that fits by now is tried again, not refused', () => {
    expect(explainRefusal(accept, 2, { status: 'SUBMITTED', version: 2 })).toMatchObject({ kind: 'retry-later' });
  });
});
