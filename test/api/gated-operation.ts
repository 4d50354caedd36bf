import { sql } from 'kysely';
import { z } from 'zod';
import { defineOperation, printableKey } from '../../src/processors/define-operation.ts';
import { succeeded } from '../../src/processors/outcomes.ts';

/** An operation that is in flight for as long as the test wants. Each request names the gate it waits at. */
export function createGatedOperation(name: string, claim: 'with-effect' | 'first') {
  const gates = new Map<string, { opened: Promise<void>; open: () => void }>();
  const gateOf = (name: string) => {
    const gate = gates.get(name) ?? createGate();
    gates.set(name, gate);
    return gate;
  };
  const operation = defineOperation({
    name,
    claim,
    request: z.strictObject({ gate: z.string(), note: z.string().default('') }),
    key: { required: true, pattern: printableKey },
    onMismatch: 'reject',
    replay: 'stored',
    process: async ({ gate }, { tx, signal }) => {
      // Postgres ends a transaction that is silent for too long, so that it is kept awake until the gate opens.
      const awake = setInterval(() => void sql`select 1`.execute(tx).catch(() => undefined), 1_000);
      const aborted = new Promise<never>((_, reject) => {
        signal.addEventListener('abort', () => reject(new Error('aborted')), { once: true });
      });
      await Promise.race([gateOf(gate).opened, aborted]).finally(() => clearInterval(awake));
      return succeeded(201, { passed: gate });
    },
  });
  return {
    operation,
    open: (gate: string) => gateOf(gate).open(),
    /** So that a worker can stop although a test failed. */
    openAll: () => {
      for (const gate of gates.values()) gate.open();
    },
  };
}

function createGate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}
