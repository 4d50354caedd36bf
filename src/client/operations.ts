import { type BulkLine, type BulkOutcome, sendBulk } from './bulk.ts';
import { Resources } from './resources.ts';
import type { Answer, AuditEntry, CallOptions, Operation, RunOptions } from './types.ts';

export class Operations extends Resources {
  /** Any operation by its name, those of your own too. */
  async execute<T = unknown>(operation: string, request: unknown, options?: RunOptions): Promise<Answer<T>> {
    return await this.run<T>(`/v1/operations/${encodeURIComponent(operation)}`, request, options);
  }
  async find(id: string, options?: CallOptions): Promise<Operation> {
    return await this.get(`/v1/operations/${encodeURIComponent(id)}`, options);
  }
  all(
    filter: { status?: Operation['status']; operation?: string; key?: string } = {},
    options?: CallOptions,
  ): AsyncGenerator<Operation> {
    return this.list('/v1/operations', filter, options);
  }
  async audit(id: string, options?: CallOptions): Promise<AuditEntry[]> {
    const { items } = await this.get<{ items: AuditEntry[] }>(
      `/v1/operations/${encodeURIComponent(id)}/audit`,
      options,
    );
    return items;
  }
  /** Sends any number of lines over one stream and yields their outcomes in order. `timeoutMs` is for silence. */
  bulk(lines: AsyncIterable<BulkLine> | Iterable<BulkLine>, options: CallOptions = {}): AsyncGenerator<BulkOutcome> {
    return sendBulk(this.http, lines, options);
  }
}
