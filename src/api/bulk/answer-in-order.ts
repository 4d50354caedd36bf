/** Something to be answered, and what it costs to hold it until then. */
export interface Batch {
  answer: () => Promise<string>;
  bytes: number;
}

/**
 * Answers batches in their order, several at a time. It reads on only while what is in hand, answered and not yet
 * taken away included, stays below the limit: whoever does not read the answers is not read either.
 */
export async function* answerInOrder(batches: AsyncIterable<Batch>, maxBytesInHand: number): AsyncGenerator<string> {
  const inHand: { text: Promise<string>; bytes: number }[] = [];
  const state = { bytes: 0, isOver: false, isLeft: false };
  const [arrived, left] = [new Bell(), new Bell()];

  const read = async () => {
    for await (const { answer, bytes } of batches) {
      while (state.bytes > 0 && state.bytes + bytes > maxBytesInHand && !state.isLeft) await left.heard();
      if (state.isLeft) return;
      state.bytes += bytes;
      inHand.push({ text: answer(), bytes });
      arrived.ring();
    }
  };
  const reading = read().finally(() => {
    state.isOver = true;
    arrived.ring();
  });
  // Its failure is thrown below, once what came before it is answered.
  reading.catch(() => undefined);

  try {
    for (;;) {
      const next = inHand.shift();
      if (next) {
        yield await next.text;
        state.bytes -= next.bytes;
        left.ring();
      } else if (state.isOver) break;
      else await arrived.heard();
    }
    await reading;
  } finally {
    state.isLeft = true;
    left.ring();
  }
}

/** Wakes whoever waits. A ring that nobody heard is heard by the next to listen. */
class Bell {
  #isRung = false;
  #wake: (() => void) | undefined;

  ring(): void {
    this.#isRung = true;
    this.#wake?.();
  }

  async heard(): Promise<void> {
    if (!this.#isRung) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    this.#isRung = false;
    this.#wake = undefined;
  }
}
