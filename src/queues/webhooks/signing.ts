import { createHmac } from 'node:crypto';

const prefix = 'whsec_';

/**
 * The secret of a webhook, in the form of Standard Webhooks. It is made anew from the key whenever it is needed, so
 * that it is stored nowhere, and each version is another one.
 */
export function deriveSecret(key: Buffer, webhookId: string, version: number): string {
  return `${prefix}${createHmac('sha256', key).update(`${webhookId}.${version}`).digest('base64')}`;
}

export interface SignedMessage {
  id: string;
  timestampSeconds: number;
  body: string;
}

/** The three headers of Standard Webhooks. Several secrets give several signatures; a receiver needs one that fits. */
export function signatureHeaders(message: SignedMessage, secrets: readonly string[]): Record<string, string> {
  const { id, timestampSeconds, body } = message;
  const content = `${id}.${timestampSeconds}.${body}`;
  const signatures = secrets.map((secret) => `v1,${sign(secret, content)}`);
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestampSeconds),
    'webhook-signature': signatures.join(' '),
  };
}

function sign(secret: string, content: string): string {
  const key = Buffer.from(secret.slice(prefix.length), 'base64');
  return createHmac('sha256', key).update(content).digest('base64');
}
