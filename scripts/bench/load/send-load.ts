import type { BenchProcess } from '../processes.ts';
import type { GeneratorAnswer, LoadPlan, LoadResult } from './protocol.ts';

/** Sends a plan to the generator's process and waits for what it measured. */
export function sendLoad(generator: BenchProcess, plan: LoadPlan): Promise<LoadResult> {
  return new Promise((resolve, reject) => {
    generator.child.once('message', (answer: GeneratorAnswer) => {
      if ('result' in answer) resolve(answer.result);
      else reject(new Error(`The load could not be sent: ${answer.error}.`));
    });
    generator.child.send(plan);
  });
}
