import { createHmac, timingSafeEqual } from 'node:crypto';

export interface WebhookMessage {
  /** The body as it came, before anything parsed it. */
  body: string | Uint8Array;
  headers: Headers | Record<string, string | readonly string[] | undefined>;
  /** From the registration; while it is exchanged, both. */
  secret: string | readonly string[];
  /** How old, or how far ahead, a message may be. Five minutes by default. */
  toleranceSeconds?: number;
}

export interface WebhookEvent {
  /** The same on every attempt: whoever remembers it handles an event once. */
  id: string;
  type: string;
  timestamp: string;
  data: unknown;
}

/** The message is not of this webhook, was changed on its way, or is too old. */
export class WebhookVerificationError extends Error {
  override readonly name = 'WebhookVerificationError';
}

const defaultToleranceSeconds = 300;

/** Checks a delivery by the Standard Webhooks scheme, and returns its event. */
export function verifyWebhook(message: WebhookMessage): WebhookEvent {
  const id = readHeader(message.headers, 'webhook-id');
  const timestamp = readHeader(message.headers, 'webhook-timestamp');
  const given = readHeader(message.headers, 'webhook-signature');
  checkAge(timestamp, message.toleranceSeconds ?? defaultToleranceSeconds);
  const body = Buffer.from(message.body);
  const content = Buffer.concat([Buffer.from(`${id}.${timestamp}.`), body]);
  const secrets = typeof message.secret === 'string' ? [message.secret] : message.secret;
  const expected = secrets.map((secret) => sign(secret, content));
  const signatures = given.split(' ').flatMap((part) => (part.startsWith('v1,') ? [Buffer.from(part.slice(3))] : []));
  const isGenuine = expected.some((known) =>
    signatures.some((signature) => signature.length === known.length && timingSafeEqual(signature, known)),
  );
  if (!isGenuine) throw new WebhookVerificationError('no signature fits');
  const { type, timestamp: at, data } = JSON.parse(body.toString()) as Omit<WebhookEvent, 'id'>;
  return { id, type, timestamp: at, data };
}

function sign(secret: string, content: Buffer): Buffer {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  return Buffer.from(createHmac('sha256', key).update(content).digest('base64'));
}

function checkAge(timestamp: string, toleranceSeconds: number): void {
  const seconds = /^\d{1,12}$/.test(timestamp) ? Number(timestamp) : Number.NaN;
  const ageSeconds = Math.abs(Date.now() / 1000 - seconds);
  if (!(ageSeconds <= toleranceSeconds)) throw new WebhookVerificationError('the timestamp is too far from now');
}

function readHeader(headers: WebhookMessage['headers'], name: string): string {
  const found =
    headers instanceof Headers
      ? headers.get(name)
      : Object.entries(headers).find(([each]) => each.toLowerCase() === name)?.[1];
  const value = typeof found === 'object' && found !== null ? found[0] : found;
  if (!value) throw new WebhookVerificationError(`the header ${name} is missing`);
  return value;
}
