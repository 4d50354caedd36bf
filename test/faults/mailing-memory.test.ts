import { readFile, writeFile } from 'node:fs/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { testApiKey } from '../support/api.ts';
import { mailingWith } from '../support/mailings.ts';
import { type ServiceProcess, startProcess } from '../support/processes.ts';
import { openTestStores, type TestStores } from '../support/service.ts';

// A large file must not be in the memory of any process: neither of the one that takes it, nor of the one that reads it.

let stores: TestStores;
let api: ServiceProcess;

beforeEach(async () => {
  stores = await openTestStores();
  api = await startProcess('api', stores.environment);
});

afterEach(async () => {
  await api.stop();
  await stores.close();
});

/** Streams the pieces to the API, so that this process does not hold them either. */
async function upload(pieces: AsyncIterable<Uint8Array>, filename: string): Promise<string> {
  const answer = await fetch(`${api.api.url}/v1/mailings?filename=${filename}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${testApiKey}`, 'content-type': 'text/csv' },
    body: ReadableStream.from(pieces),
    duplex: 'half',
  });
  expect(answer.status).toBe(202);
  return ((await answer.json()) as { mailingId: string }).mailingId;
}

it('an upload of 200 MB needs a small part of that, wherever it goes', async () => {
  async function* pieces() {
    yield Buffer.from('email,text\n');
    const row = `${'x'.repeat(1_000)}\n`;
    for (let piece = 0; piece < 400; piece += 1) {
      yield Buffer.from(Array.from({ length: 500 }, (_, index) => `u${piece}-${index}@example.com,${row}`).join(''));
    }
  }
  await upload(small(), 'warm.csv');
  await forgetPeak(api.pid);
  const before = await readMb(api.pid, 'VmRSS');
  await upload(pieces(), 'large.csv');
  expect((await readMb(api.pid, 'VmHWM')) - before).toBeLessThan(100);
});

it('400 000 rows are read by a worker that could not hold them', async () => {
  async function* pieces() {
    yield Buffer.from('email,name\n');
    for (let piece = 0; piece < 400; piece += 1) {
      const rows = Array.from({ length: 1_000 }, (_, index) => `u${piece}-${index}@example.com,Name ${index}\n`);
      yield Buffer.from(rows.join(''));
    }
  }
  const id = await upload(pieces(), 'long.csv');
  await api.api.post(`/v1/mailings/${id}/pause`, {});
  // The rows alone would be twice as much.
  const worker = await startProcess('worker', { ...stores.environment, NODE_OPTIONS: '--max-old-space-size=80' });
  await api.api.post(`/v1/mailings/${id}/resume`, {});
  const { totals } = await mailingWith(api.api, id, 'SENDING', 120_000);
  expect(totals).toMatchObject({ lines: 400_000, entries: 400_000, invalid: 0, duplicates: 0 });
  await api.api.post(`/v1/mailings/${id}/cancel`, {});
  expect(worker.warnings).toEqual([]);
  await worker.stop();
}, 180_000);

async function* small() {
  yield Buffer.from('email\nada@example.com\n');
}

/** What Linux says of a process. Elsewhere nothing is said, and nothing can be held against it. */
async function readMb(pid: number, name: 'VmRSS' | 'VmHWM'): Promise<number> {
  if (process.platform !== 'linux') return 0;
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1_024;
}

async function forgetPeak(pid: number): Promise<void> {
  if (process.platform === 'linux') await writeFile(`/proc/${pid}/clear_refs`, '5');
}
