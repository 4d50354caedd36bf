import type { BenchProcess } from '../processes.ts';

export type ProcessAnswer<T> = { readonly result: T } | { readonly error: string };

/** Sends one question to a process of the benchmark and waits for its answer. */
export function askProcess<Question extends object, Answer>(asked: BenchProcess, question: Question): Promise<Answer> {
  return new Promise((resolve, reject) => {
    asked.child.once('message', (answer: ProcessAnswer<Answer>) => {
      if ('result' in answer) resolve(answer.result);
      else reject(new Error(`${asked.name}: ${answer.error}`));
    });
    asked.child.send(question);
  });
}

/** The other side: answers each question, and says that it is ready for them. */
export function answerQuestions<Question extends object, Answer>(
  answer: (question: Question) => Promise<Answer> | Answer,
): void {
  const tell = (message: ProcessAnswer<Answer>): void => void process.send?.(message);
  process.on('message', async (question: Question) => {
    try {
      tell({ result: await answer(question) });
    } catch (error) {
      tell({ error: String(error) });
    }
  });
  process.on('disconnect', () => process.exit());
  process.send?.('ready');
}
