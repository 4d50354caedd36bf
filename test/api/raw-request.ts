import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type Answer, testApiKey } from '../support/api.ts';

/** Opens a bare connection, for requests that no HTTP client would send. */
export async function openConnection(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  return socket;
}

/** The bytes of a request with these header lines. A character is a byte, as HTTP has it. */
export function requestBytes(startLine: string, headerLines: readonly string[], body = ''): Buffer {
  const lines = [`${startLine} HTTP/1.1`, 'Host: localhost', `Authorization: Bearer ${testApiKey}`, ...headerLines];
  return Buffer.from([...lines, 'Connection: close', '', body].join('\r\n'), 'latin1');
}

/** A POST with a JSON body and whatever else the header lines say. */
export function postBytes(path: string, headerLines: readonly string[], body: unknown): Buffer {
  const text = JSON.stringify(body);
  const about = ['Content-Type: application/json', `Content-Length: ${Buffer.byteLength(text)}`];
  return requestBytes(`POST ${path}`, [...about, ...headerLines], text);
}

/** Sends the bytes as they are and reads until the server closes the connection. */
export async function sendRaw(url: string, ...parts: readonly Buffer[]): Promise<Answer> {
  const socket = await openConnection(url);
  for (const part of parts) socket.write(part);
  return await readAnswer(socket);
}

/** The first answer on a connection that the server closes after it. */
export async function readAnswer(socket: Socket): Promise<Answer> {
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk as Buffer);
  const bytes = Buffer.concat(chunks);
  const headEnd = bytes.indexOf('\r\n\r\n');
  const [statusLine = '', ...headerLines] = bytes.subarray(0, headEnd).toString('latin1').split('\r\n');
  const headers = Object.fromEntries(headerLines.map(parseHeader));
  const text = bytes.subarray(headEnd + 4).toString();
  const isJson = headers['content-type']?.includes('json');
  return { status: Number(statusLine.split(' ')[1]), headers, text, body: isJson ? JSON.parse(text) : undefined };
}

function parseHeader(line: string): [string, string] {
  const colon = line.indexOf(':');
  return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
}
