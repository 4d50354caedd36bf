import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Answer } from '../../support/api.ts';
import { move, newCustomer, newProposal, type Verb } from '../../support/proposals.ts';
import { startTestService, type TestService } from '../../support/service.ts';

interface State {
  status: string;
  version: number;
}

/** The diagram, written a second time and for the test alone. */
const arrows: Record<Verb, [string, string]> = {
  submit: ['DRAFT', 'SUBMITTED'],
  accept: ['SUBMITTED', 'ACCEPTED'],
  reject: ['SUBMITTED', 'REJECTED'],
};
const draft: State = { status: 'DRAFT', version: 1 };

let service: TestService;
let customerId: string;

beforeAll(async () => {
  service = await startTestService({ environment: { WAIT_SECONDS: '30' } });
  customerId = await newCustomer(service.api);
});

afterAll(() => service.close());

const verb = fc.constantFrom<Verb>('submit', 'accept', 'reject');
const call = fc.record({ verb, version: fc.integer({ min: 1, max: 4 }), key: fc.option(fc.constantFrom('a', 'b')) });

/** What the diagram says to a call: the next state, or a refusal. */
function expectedOf(state: State, { verb, version }: { verb: Verb; version: number }): State | string {
  const [from, to] = arrows[verb];
  if (version !== state.version) return 'VERSION_CONFLICT';
  return state.status === from ? { status: to, version: version + 1 } : 'INVALID_STATE';
}

const stateOf = ({ status, version }: State): State => ({ status, version });
const seenOf = (answer: Answer): State | string => (answer.status === 200 ? stateOf(answer.body) : answer.body.code);

/** Follows the arrows from DRAFT through what was written down, and fails where there is none. */
function replay(steps: readonly { verb: string; status: string; version: number }[]): State {
  return steps.reduce<State>((state, step) => {
    const [from, to] = arrows[step.verb as Verb];
    expect([state.status, state.version + 1, step.status]).toEqual([from, step.version, to]);
    return stateOf(step);
  }, draft);
}

async function expectHistoryOf(id: string, current: State): Promise<void> {
  expect((await service.api.get(`/v1/proposals/${id}`)).body).toMatchObject(current);
  const events = await sql<State & { verb: string }>`
    select case type when 'proposal.submitted' then 'submit' when 'proposal.accepted' then 'accept'
      when 'proposal.rejected' then 'reject' end as verb, data ->> 'status' as status, (data ->> 'version')::int as version
    from events where data ->> 'id' = ${id} order by version`.execute(service.db);
  expect(replay(events.rows)).toEqual(current);
  // The audit tells which operations succeeded, and each of them one step.
  const audited = await sql<State & { verb: string }>`
    select split_part(r.operation, '.', 2) as verb, r.response_body ->> 'status' as status,
      (r.response_body ->> 'version')::int as version
    from audit a join records r on r.id = a.record_id
    where a.to_status = 'SUCCEEDED' and r.request ->> 'proposalId' = ${id} order by version`.execute(service.db);
  expect(replay(audited.rows)).toEqual(current);
}

it('no order of calls leaves the diagram, and audit and events replay to the current state', async () => {
  const property = fc.asyncProperty(fc.array(call, { minLength: 1, maxLength: 10 }), async (calls) => {
    const id = await newProposal(service.api, { customerId });
    const scope = randomUUID();
    const known = new Map<string, State | string>();
    let state = draft;
    for (const { verb, version, key } of calls) {
      const answer = await move(service.api, id, verb, version, key === null ? {} : { key: `${scope}-${key}` });
      const first = known.get(`${verb} ${key}`);
      if (key !== null && first !== undefined) {
        // A used key does nothing, and shows the proposal as it is now or the refusal as it was.
        expect(seenOf(answer)).toEqual(typeof first === 'string' ? first : state);
        continue;
      }
      const expected = expectedOf(state, { verb, version });
      expect(seenOf(answer)).toEqual(expected);
      if (key !== null) known.set(`${verb} ${key}`, expected);
      if (typeof expected !== 'string') state = expected;
    }
    await expectHistoryOf(id, state);
  });
  await fc.assert(property, { numRuns: 40 });
});

it('no race of calls leaves the diagram, and audit and events replay to the current state', async () => {
  const property = fc.asyncProperty(fc.array(call, { minLength: 2, maxLength: 12 }), async (calls) => {
    const id = await newProposal(service.api, { customerId });
    const scope = randomUUID();
    const answers = await Promise.all(
      calls.map(({ verb, version, key }) =>
        move(service.api, id, verb, version, key === null ? {} : { key: `${scope}-${key}` }),
      ),
    );
    for (const answer of answers) {
      if (answer.status !== 200) expect(['VERSION_CONFLICT', 'INVALID_STATE']).toContain(answer.body.code);
    }
    await expectHistoryOf(id, stateOf((await service.api.get(`/v1/proposals/${id}`)).body));
  });
  await fc.assert(property, { numRuns: 40 });
});
