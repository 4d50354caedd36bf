import fc from 'fast-check';
import { expect, it } from 'vitest';
import { describeClockFault, measureOffset } from '../../src/store/clocks.ts';

/** A clock that is `offsetMs` away from ours, asked over a network with delays on both ways. */
async function measure({ offsetMs, thereMs, backMs }: { offsetMs: number; thereMs: number; backMs: number }) {
  let nowMs = 1_800_000_000_000;
  return await measureOffset(
    async () => {
      nowMs += thereMs;
      const theirsMs = nowMs + offsetMs;
      nowMs += backMs;
      return theirsMs;
    },
    () => nowMs,
  );
}

const delay = fc.integer({ min: 0, max: 5_000 });

it('no delay makes a right clock look wrong', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: -500, max: 500 }), delay, delay, async (offsetMs, thereMs, backMs) => {
      const Postgres = await measure({ offsetMs, thereMs, backMs });
      // Half a millisecond is what rounding may add.
      expect(
        describeClockFault({ Postgres: { ...Postgres, uncertaintyMs: Postgres.uncertaintyMs + 0.5 } }),
      ).toBeUndefined();
    }),
  );
});

it('two clocks that are more than a second apart are never both taken for right, if Postgres answers at once', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: -5_000, max: 5_000 }),
      fc.integer({ min: 1_002, max: 9_000 }),
      async (first, apart) => {
        const offsets = await Promise.all(
          [first, first + apart].map((offsetMs) => measure({ offsetMs, thereMs: 0, backMs: 0 })),
        );
        expect(offsets.map((Postgres) => describeClockFault({ Postgres })).some((fault) => fault !== undefined)).toBe(
          true,
        );
      },
    ),
  );
});

it('says which way and how far, for each clock that differs', () => {
  const exact = { uncertaintyMs: 1 };
  expect(describeClockFault({ Postgres: { offsetMs: 20, ...exact }, Redis: undefined })).toBeUndefined();
  expect(describeClockFault({ Postgres: { offsetMs: 20, ...exact }, Redis: { offsetMs: 1_240, ...exact } })).toMatch(
    /^The clock of this process is 1\.2 s behind that of Redis\. Set all clocks/,
  );
  expect(describeClockFault({ Postgres: { offsetMs: -90_000, ...exact } })).toMatch(
    /^The clock of this process is 90\.0 s ahead of that of Postgres\./,
  );
});
