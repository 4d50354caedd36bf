import { processWarnings, type ReceiverLog, type Risk } from './receiver-options.ts';

const messages: Record<Risk['kind'], string> = {
  'delivered-without-store': 'is handled although the store is away; if it was handled before, this is a second time',
  'result-not-recorded': 'was handled but that is not recorded; the next delivery may handle it again',
};

/** Counts and tells what may lead to a second time. Telling never stops a delivery. */
export class RiskReporter {
  readonly #log: ReceiverLog;
  readonly #onRisk: (risk: Risk) => void;
  #count = 0;

  constructor(options: { log?: ReceiverLog; onRisk?: (risk: Risk) => void }) {
    this.#log = options.log ?? processWarnings;
    this.#onRisk = options.onRisk ?? (() => undefined);
  }

  get count(): number {
    return this.#count;
  }

  report(risk: Risk): void {
    this.#count += 1;
    const { kind, key, error } = risk;
    this.warn({ kind, key, error }, `Message ${key.namespace}/${key.id} ${messages[kind]}.`);
    try {
      this.#onRisk(risk);
    } catch (failure) {
      this.warn({ error: failure }, 'The callback for risks failed.');
    }
  }

  warn(fields: object, message: string): void {
    this.#log.warn(fields, message);
  }
}
