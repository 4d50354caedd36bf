import type { Answer } from '../api.ts';

/** What a replay must have in common with the first answer: all of it, or which resource it is about. */
export type Sameness = 'bytes' | 'resource';

export interface Call {
  operation: string;
  key: string;
  sameness: Sameness;
}

interface FirstAnswer {
  status: number;
  text: string;
}

/** What the clients of a run were told. The checker holds it against the database and the sinks. */
export class Journal {
  /** What was acknowledged: the id of the operation, and the operation's name. */
  readonly acknowledged = new Map<string, string>();
  /** Uploads that were taken, by the id of their mailing. */
  readonly mailings = new Set<string>();
  /** Transfers that a client was told to be done: id and amount. */
  readonly transfers = new Map<string, number>();
  /** Answers under one key that differ. */
  readonly differences: string[] = [];
  /** Calls whose client gave up without an answer. */
  readonly unanswered: string[] = [];
  readonly counts = { calls: 0, answers: 0, promises: 0, refused: 0, lost: 0 };
  readonly #first = new Map<string, FirstAnswer>();

  /** True if this is the answer, and not a promise or a "try again". */
  note(call: Call, answer: Answer): boolean {
    const { status } = answer;
    const operationId = String(answer.headers['operation-id'] ?? '');
    if (status >= 200 && status < 300 && operationId !== '') this.acknowledged.set(operationId, call.operation);
    if (call.operation === 'mailing.upload') return this.#noteUpload(call, answer);
    if (status === 202) {
      this.counts.promises += 1;
      return false;
    }
    if (status >= 500 || status === 429 || answer.body?.code === 'OPERATION_IN_PROGRESS') {
      this.counts.refused += 1;
      return false;
    }
    if (status === 201 && call.operation === 'transfer.create') this.transfers.set(answer.body.id, answer.body.amount);
    this.#compare(call, status, call.sameness === 'bytes' ? answer.text : String(answer.body?.id ?? answer.text));
    return true;
  }

  /** A line of a bulk answer: taken under an id that must not change, or refused. True if it was taken. */
  noteBulkLine({ key, operationId }: { key: string; operationId?: string }): boolean {
    if (operationId === undefined) return false;
    this.acknowledged.set(operationId, 'transfer.create');
    this.#compare({ operation: 'bulk', key, sameness: 'resource' }, 200, operationId);
    return true;
  }

  #noteUpload(call: Call, answer: Answer): boolean {
    if (answer.status >= 300) {
      this.counts.refused += 1;
      return false;
    }
    this.mailings.add(answer.body.mailingId);
    // The first is a 202 and the others are 200: which mailing it is must not change.
    this.#compare(call, 200, answer.body.mailingId);
    return true;
  }

  #compare({ operation, key }: Call, status: number, text: string): void {
    this.counts.answers += 1;
    const name = `${operation} ${key}`;
    const first = this.#first.get(name);
    if (!first) this.#first.set(name, { status, text });
    else if (first.status !== status || first.text !== text) {
      this.differences.push(`${name}: first ${first.status} ${first.text}, then ${status} ${text}`);
    }
  }
}
