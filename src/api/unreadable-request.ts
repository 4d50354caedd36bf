import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { RequestError } from '@hono/node-server';
import { type ErrorCode, type Problem, problemOf } from '../errors.ts';

/** How long the rest of what a client sends is read and dropped: closing earlier could take our answer from it. */
const lingerMs = 500;

const codesOfParser: Partial<Record<string, [ErrorCode, string]>> = {
  HPE_HEADER_OVERFLOW: ['TOO_LARGE', 'The address and the headers together are too long.'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: ['TOO_LARGE', 'The chunk extensions are too long.'],
  ERR_HTTP_REQUEST_TIMEOUT: ['INVALID_REQUEST', 'The request did not arrive in time.'],
};

/** Answers bytes that are not HTTP. There is no request yet, so that the answer is written by hand. */
export function answerUnreadable(error: Error & { code?: string }, socket: Duplex): void {
  // Node's own handler looks here too: into an answer that has begun, nothing else may be written.
  const { _httpMessage: begun } = socket as Duplex & { _httpMessage?: ServerResponse | null };
  if (!socket.writable || error.code === 'ECONNRESET' || begun?.headersSent) {
    socket.destroy();
    return;
  }
  const { problem, headers } = unreadable(...(codesOfParser[error.code ?? ''] ?? notHttp));
  const body = JSON.stringify(problem);
  const all = { ...headers, 'content-length': String(Buffer.byteLength(body)), connection: 'close' };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  socket.end([`HTTP/1.1 ${problem.status} ${problem.title}`, ...lines, '', body].join('\r\n'));
  socket.on('error', () => socket.destroy()).resume();
  setTimeout(() => socket.destroy(), lingerMs).unref();
}

/** The same for a request that is HTTP, but whose target and host make no address. The app never sees it. */
export function respondToUnaddressed(error: unknown): Response {
  const { problem, headers } =
    error instanceof RequestError
      ? unreadable('INVALID_REQUEST', 'The target and the Host header make no valid address.')
      : unreadable('INTERNAL', 'The request could not be handled.');
  return new Response(JSON.stringify(problem), { status: problem.status, headers });
}

const notHttp: [ErrorCode, string] = ['INVALID_REQUEST', 'The request is not valid HTTP.'];

function unreadable(code: ErrorCode, detail: string): { problem: Problem; headers: Record<string, string> } {
  return {
    problem: problemOf(code, detail),
    headers: { 'content-type': 'application/problem+json', 'x-request-id': randomUUID() },
  };
}
