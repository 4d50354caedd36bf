import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { judge } from '../support/judge.ts';
import { startServiceOn, startTestService, type TestService } from '../support/service.ts';

let service: TestService;
let secondWorker: { close: () => Promise<void> };

beforeAll(async () => {
  service = await startTestService({ environment: { WAIT_SECONDS: '30' } });
  // Two workers, so that two groups of transfers compete for the same accounts.
  secondWorker = await startServiceOn(service, { role: 'worker' });
});

afterAll(async () => {
  await secondWorker.close();
  await service.close();
});

const accountSettings = fc.record({
  openingBalance: fc.integer({ min: 0, max: 100 }),
  overdraftLimit: fc.integer({ min: 0, max: 50 }),
});
const transfer = fc.record({ from: fc.nat(3), to: fc.nat(3), amount: fc.integer({ min: 1, max: 120 }) });

it('random concurrent transfers among few accounts never break a limit, never lose a unit and never show a deadlock', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(accountSettings, { minLength: 4, maxLength: 4 }),
      fc.array(transfer, { minLength: 40, maxLength: 120 }),
      async (settings, transfers) => {
        const ids = await Promise.all(
          settings.map(({ openingBalance, ...more }) => service.api.openAccount(openingBalance, more)),
        );
        const answers = await Promise.all(
          transfers.map(({ from, to, amount }) =>
            service.api.post(
              '/v1/transfers',
              { fromAccountId: ids[from], toAccountId: ids[to], amount },
              { key: randomUUID() },
            ),
          ),
        );
        const codes = answers.map((answer) => (answer.status === 201 ? 'COMPLETED' : answer.body.code));
        expect(codes.filter((code) => !['COMPLETED', 'INSUFFICIENT_FUNDS', 'SAME_ACCOUNT'].includes(code))).toEqual([]);
        const balances = await Promise.all(ids.map((id) => service.api.balanceOf(id)));
        expect(sum(balances)).toBe(sum(settings.map((setting) => setting.openingBalance)));
        await judge(service.db);
      },
    ),
    { numRuns: 15 },
  );
});

it('opposing transfers between two accounts all come through', async () => {
  const [one, other] = [await service.api.openAccount(1_000), await service.api.openAccount(1_000)];
  const pairs = Array.from({ length: 300 }, (_, index) => (index % 2 === 0 ? [one, other] : [other, one]));
  const answers = await Promise.all(
    pairs.map(([fromAccountId, toAccountId]) =>
      service.api.post('/v1/transfers', { fromAccountId, toAccountId, amount: 1 }, { key: randomUUID() }),
    ),
  );
  expect(answers.map((answer) => answer.status)).toEqual(pairs.map(() => 201));
  expect(await service.api.balanceOf(one)).toBe(1_000);
});

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
