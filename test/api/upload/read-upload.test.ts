import { createServer, type IncomingMessage, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { readChunks } from '../../../src/api/upload/read-chunks.ts';
import { readMultipart } from '../../../src/api/upload/read-multipart.ts';
import { eventually } from '../../support/eventually.ts';

let server: Server | undefined;

afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

/** Hands the request whose bytes are given to a reader with little patience, and tells how that ended. */
async function read<T>(bytes: string, reader: (incoming: IncomingMessage) => Promise<T>): Promise<T> {
  return await new Promise<T>((resolve, reject) => {
    const listening = createServer((incoming) => void reader(incoming).then(resolve, reject));
    server = listening;
    listening.listen(0, '127.0.0.1', () => {
      const socket = connect((listening.address() as AddressInfo).port, '127.0.0.1');
      socket.on('error', () => undefined);
      socket.write(bytes);
    });
  });
}

const patience = { stallTimeoutMs: 200, maxBytes: 100_000 };
const collect = async (chunks: AsyncIterable<Uint8Array>) => {
  let text = '';
  for await (const chunk of chunks) text += Buffer.from(chunk).toString();
  return text;
};
const head = (type: string, length: number) =>
  `POST / HTTP/1.1\r\nhost: x\r\ncontent-type: ${type}\r\ncontent-length: ${length}\r\n\r\n`;

describe('a client that falls silent', () => {
  it('is given up, as plain CSV', async () => {
    const reading = read(`${head('text/csv', 100)}email\na@exa`, (incoming) => collect(readChunks(incoming, patience)));
    await expect(reading).rejects.toMatchObject({ code: 'INVALID_REQUEST', message: 'The upload stalled.' });
  });

  it('is given up in the middle of a form, and whoever stores the file hears of it first', async () => {
    let stored: unknown;
    const form = '--B\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\nemail\na@exa';
    const reading = read(`${head('multipart/form-data; boundary=B', 10_000)}${form}`, (incoming) =>
      readMultipart(incoming, patience, async ({ content }) => {
        stored = await collect(content).catch((error: unknown) => error);
        throw stored;
      }),
    );
    await expect(reading).rejects.toMatchObject({ message: 'The upload stalled.' });
    expect(stored).toMatchObject({ message: 'The upload stalled.' });
  });
});

it('a form that ends within its file is refused, although all announced bytes came', async () => {
  const form = '--B\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\nemail\na@example.com\n';
  const reading = read(`${head('multipart/form-data; boundary=B', form.length)}${form}`, (incoming) =>
    readMultipart(incoming, patience, ({ content }) => collect(content)),
  );
  await expect(reading).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
});

it('nothing is read after the signal, although more has come already', async () => {
  const stop = new AbortController();
  const reason = new Error('the end');
  let isStopped = false;
  let readAfterwards = 0;
  const reading = read(`${head('text/csv', 200_000)}${'x'.repeat(200_000)}`, async (incoming) => {
    for await (const chunk of readChunks(incoming, { ...patience, signal: stop.signal })) {
      if (isStopped) readAfterwards += chunk.length;
      else await eventually(() => expect(incoming.readableLength).toBeGreaterThan(0));
      stop.abort(reason);
      isStopped = true;
    }
  });
  await expect(reading).rejects.toBe(reason);
  expect(readAfterwards).toBe(0);
});

it.each([
  ['a field without end', '--B\r\nContent-Disposition: form-data; name="subject"\r\n\r\n'],
  ['what comes before the first part', 'preamble\r\n'],
  ['what comes after the last part', '--B--\r\n'],
])('a form that does not say its length is read no further than it may be: %s', async (_what, start) => {
  const size = 2 * patience.maxBytes;
  const chunked =
    'POST / HTTP/1.1\r\nhost: x\r\ncontent-type: multipart/form-data; boundary=B\r\ntransfer-encoding: chunked';
  const bytes = `${chunked}\r\n\r\n${start.length.toString(16)}\r\n${start}\r\n${size.toString(16)}\r\n${'x'.repeat(size)}`;
  const reading = read(bytes, (incoming) => readMultipart(incoming, patience, ({ content }) => collect(content)));
  await expect(reading).rejects.toMatchObject({ code: 'TOO_LARGE' });
});
