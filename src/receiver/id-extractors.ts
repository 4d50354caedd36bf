import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { MissingIdError } from './errors.ts';
import type { IdValue } from './storable-id.ts';

/** Says what a message is recognised by. Nothing, null and the empty string mean that there is no id. */
export type IdOf<Message> = (message: Message) => IdValue;

/** The id that the producer gave to the message, in a field of it. */
export function producerId<Field extends string>(field: Field): IdOf<{ readonly [name in Field]?: IdValue }> {
  return (message) => {
    const value: unknown = message[field];
    if (value === undefined || value === null) return undefined;
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint') return value;
    throw new MissingIdError(`The field ${field} holds no id.`);
  };
}

/**
 * A digest of the content: the same JSON is the same message, in whatever order its fields come. Give `partOf` to
 * leave out what differs between deliveries, such as the time of sending.
 */
export function contentHash<Message>(partOf: (message: Message) => unknown = (message) => message): IdOf<Message> {
  return (message) => {
    const text = writeCanonically(partOf(message));
    return text === undefined ? undefined : createHash('sha256').update(text).digest('hex');
  };
}

type Part<Message> = (keyof Message & string) | ((message: Message) => unknown);

/** Several fields together. They are written as a JSON array, so that ("a:b", "c") is another id than ("a", "b:c"). */
export function composite<Message>(...parts: readonly [Part<Message>, ...Part<Message>[]]): IdOf<Message> {
  return (message) => {
    const values = parts.map((part) => (typeof part === 'function' ? part(message) : message[part]));
    if (values.some((value) => value === undefined || value === null)) return undefined;
    return writeCanonically(values);
  };
}

type HeaderValue = string | readonly string[] | undefined;
type HeaderList = Readonly<Record<string, HeaderValue>> | { get(name: string): string | null };

/** The key that a client sent in a header: of a `Request`, of Node's `IncomingMessage`, or in a plain object. */
export function clientKey(header = 'Idempotency-Key'): IdOf<{ readonly headers: HeaderList }> {
  return ({ headers }) => {
    const value = isHeaders(headers) ? headers.get(header) : findHeader(headers, header);
    if (typeof value === 'string' || value === null || value === undefined) return value;
    if (value.length <= 1) return value[0];
    throw new MissingIdError(`The header ${header} was sent ${value.length} times.`);
  };
}

function isHeaders(headers: HeaderList): headers is { get(name: string): string | null } {
  return typeof headers.get === 'function';
}

function findHeader(headers: Readonly<Record<string, HeaderValue>>, header: string): HeaderValue {
  const [found, another] = Object.entries(headers).filter(([name]) => name.toLowerCase() === header.toLowerCase());
  if (another) throw new MissingIdError(`The header ${header} was sent more than once.`);
  return found?.[1];
}

function writeCanonically(value: unknown): string | undefined {
  try {
    return canonicalize(value);
  } catch (error) {
    throw new MissingIdError('The message has no content hash, because it is not JSON.', { cause: error });
  }
}
