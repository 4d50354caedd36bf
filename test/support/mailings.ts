import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import type { Answer, Api, CallOptions } from './api.ts';
import { eventually } from './eventually.ts';

export interface UploadOptions extends CallOptions {
  filename?: string;
  query?: string;
  fields?: Record<string, string>;
}

/** Uploads a file as a form if there are fields, otherwise as plain CSV. */
export async function uploadCsv(api: Api, csv: string | Buffer, options: UploadOptions = {}): Promise<Answer> {
  const { filename = `${randomUUID()}.csv`, query = '', fields, headers, ...rest } = options;
  const more = query === '' ? '' : `&${query}`;
  if (!fields) {
    const type = { 'content-type': 'text/csv', ...headers };
    return await api.send('POST', `/v1/mailings?filename=${encodeURIComponent(filename)}${more}`, Buffer.from(csv), {
      ...rest,
      headers: type,
    });
  }
  const form = multipartOf(csv, filename, fields);
  const type = { 'content-type': `multipart/form-data; boundary=${form.boundary}`, ...headers };
  return await api.send('POST', `/v1/mailings${query && `?${query}`}`, form.body, { ...rest, headers: type });
}

export function multipartOf(csv: string | Buffer, filename: string, fields: Record<string, string>) {
  const boundary = `----${randomUUID()}`;
  const parts = Object.entries(fields).map(
    ([name, value]) => `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  );
  const file = `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="${filename}"\r\nContent-Type: text/csv\r\n\r\n`;
  const body = Buffer.concat([
    Buffer.from(parts.join('') + file),
    Buffer.from(csv),
    Buffer.from(`\r\n--${boundary}--\r\n`),
  ]);
  return { boundary, body };
}

/** Uploads a file that must be taken, and returns the id of its mailing. */
export async function newMailing(api: Api, csv: string | Buffer, options: UploadOptions = {}): Promise<string> {
  const answer = await uploadCsv(api, csv, options);
  if (answer.status !== 202) throw new Error(`an upload was answered with ${answer.status}: ${answer.text}`);
  return answer.body.mailingId;
}

/** The mailing once it has the status. */
export async function mailingWith(api: Api, id: string, status: string, timeoutMs = 30_000) {
  return await eventually(
    async () => {
      const { body } = await api.get(`/v1/mailings/${id}`);
      expect(body.status, JSON.stringify(body)).toBe(status);
      return body;
    },
    { timeoutMs },
  );
}

/** All entries, page by page. */
export async function entriesOf(api: Api, id: string, status?: string) {
  const items = [];
  let cursor = '';
  for (;;) {
    const filter = status ? `&status=${status}` : '';
    const { body } = await api.get(`/v1/mailings/${id}/entries?limit=200${filter}${cursor && `&cursor=${cursor}`}`);
    items.push(...body.items);
    if (body.nextCursor === null) return items;
    cursor = body.nextCursor;
  }
}

/** A file of so many addresses with names. */
export function csvOf(count: number, from = 1): string {
  const rows = Array.from({ length: count }, (_, index) => `user${from + index}@example.com,Name ${from + index}`);
  return `email,name\n${rows.join('\n')}\n`;
}
