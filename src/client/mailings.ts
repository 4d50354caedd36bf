import { Resources } from './resources.ts';
import type { CallOptions, Mailing, MailingEntry, RunOptions, UploadedMailing } from './types.ts';

export interface MailingUpload {
  /** The CSV: its text, its bytes, or a `Blob` such as `openAsBlob` of `node:fs` gives, which is streamed. */
  file: string | Uint8Array<ArrayBuffer> | Blob;
  filename: string;
  subject?: string;
  text?: string;
  html?: string;
  from?: string;
  ratePerSecond?: number;
  identity?: 'both' | 'filename' | 'content';
}

export class Mailings extends Resources {
  /** The same file is the same mailing, however often it is sent. */
  async upload(upload: MailingUpload, { key, ...options }: RunOptions = {}): Promise<UploadedMailing> {
    const { file, filename, identity, ...fields } = upload;
    const form = new FormData();
    // The service reads the fields before the file, in one pass.
    for (const [name, value] of Object.entries(fields)) form.append(name, String(value));
    form.append('file', file instanceof Blob ? file : new Blob([file]), filename);
    const path = identity === undefined ? '/v1/mailings' : `/v1/mailings?identity=${identity}`;
    const headers = key === undefined ? {} : { 'idempotency-key': JSON.stringify(key) };
    return (await this.http.call<UploadedMailing>({ ...options, method: 'POST', path, headers, body: form })).body;
  }
  async find(id: string, options?: CallOptions): Promise<Mailing> {
    return await this.get(`/v1/mailings/${encodeURIComponent(id)}`, options);
  }
  all(filter: { status?: Mailing['status'] } = {}, options?: CallOptions): AsyncGenerator<Mailing> {
    return this.list('/v1/mailings', filter, options);
  }
  entries(id: string, filter: { status?: MailingEntry['status'] } = {}, options?: CallOptions) {
    return this.list<MailingEntry>(`/v1/mailings/${encodeURIComponent(id)}/entries`, filter, options);
  }
  async pause(id: string, options?: CallOptions): Promise<Mailing> {
    return await this.#change(id, 'pause', options);
  }
  async resume(id: string, options?: CallOptions): Promise<Mailing> {
    return await this.#change(id, 'resume', options);
  }
  async cancel(id: string, options?: CallOptions): Promise<Mailing> {
    return await this.#change(id, 'cancel', options);
  }
  /** What failed meanwhile would be sent a third time, so a broken connection is not tried again. */
  async retryFailed(id: string, options?: CallOptions): Promise<Mailing> {
    return await this.#change(id, 'retry-failed', { ...options, isRepeatable: false });
  }
  async #change(id: string, verb: string, options: CallOptions & { isRepeatable?: boolean } = {}): Promise<Mailing> {
    return await this.act('POST', `/v1/mailings/${encodeURIComponent(id)}/${verb}`, options);
  }
}
