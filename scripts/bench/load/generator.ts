import type { GeneratorAnswer, LoadPlan } from './protocol.ts';
import { runLoad } from './run-load.ts';

// A process of its own: what it costs to send and to measure must not slow down what is measured.

process.on('message', (plan: LoadPlan) => {
  runLoad(plan).then(
    (result) => tell({ result }),
    (error: unknown) => tell({ error: String(error) }),
  );
});
process.on('disconnect', () => process.exit());

function tell(answer: GeneratorAnswer): void {
  process.send?.(answer);
}
process.send?.('ready');
