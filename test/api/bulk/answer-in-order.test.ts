import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { answerInOrder, type Batch } from '../../../src/api/bulk/answer-in-order.ts';

describe('answers', () => {
  it('come in the order of the questions, whatever is ready first', async () => {
    const ready: (() => void)[] = [];
    async function* ask(): AsyncGenerator<Batch> {
      for (let index = 0; index < 5; index += 1) {
        const answer = () => new Promise<string>((resolve) => ready.push(() => resolve(String(index))));
        yield { bytes: 1, answer };
      }
    }
    const answers = answerInOrder(ask(), 10);
    const first = answers.next();
    while (ready.length < 5) await nextTurn();
    for (const tell of ready.toReversed()) tell();
    const rest: string[] = [];
    expect((await first).value).toBe('0');
    for await (const text of answers) rest.push(text);
    expect(rest).toEqual(['1', '2', '3', '4']);
  });

  it('that nobody takes away stop the reading, and taking one away lets one more in', async () => {
    let asked = 0;
    async function* ask(): AsyncGenerator<Batch> {
      for (;;) {
        asked += 1;
        yield { bytes: 10, answer: async () => 'x' };
      }
    }
    const answers = answerInOrder(ask(), 50);
    for (let taken = 1; taken <= 20; taken += 1) {
      await answers.next();
      for (let turn = 0; turn < 20; turn += 1) await nextTurn();
      // Five in hand, one that waits to be let in, and those taken away before.
      expect(asked).toBeLessThanOrEqual(taken + 6);
    }
    await answers.return(undefined);
  });

  it('let in what is larger than the limit, alone', async () => {
    async function* ask(): AsyncGenerator<Batch> {
      yield { bytes: 1_000, answer: async () => 'large' };
      yield { bytes: 1, answer: async () => 'small' };
    }
    const texts: string[] = [];
    for await (const text of answerInOrder(ask(), 10)) texts.push(text);
    expect(texts).toEqual(['large', 'small']);
  });

  it('end with the failure of the source, after what came before it', async () => {
    async function* ask(): AsyncGenerator<Batch> {
      yield { bytes: 1, answer: async () => 'before' };
      throw new Error('the source broke');
    }
    const answers = answerInOrder(ask(), 10);
    expect((await answers.next()).value).toBe('before');
    await expect(answers.next()).rejects.toThrow('the source broke');
  });
});
