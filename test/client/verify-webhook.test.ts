import { randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import { verifyWebhook, WebhookVerificationError } from '../../src/client/index.ts';

const newSecret = () => `whsec_${randomBytes(32).toString('base64')}`;
const secret = newSecret();
const body = JSON.stringify({ type: 'transfer.completed', timestamp: '2026-01-01T00:00:00.000Z', data: { amount: 1 } });

/** Signed by somebody else's code. */
function headersOf(signedBy: string, at = new Date()): Record<string, string> {
  return {
    'Webhook-Id': 'event-1',
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': new Webhook(signedBy).sign('event-1', at, body),
  };
}

describe('a webhook', () => {
  it('that is genuine gives its event, whatever the headers come in', () => {
    const event = { id: 'event-1', type: 'transfer.completed', timestamp: expect.any(String), data: { amount: 1 } };
    expect(verifyWebhook({ body, headers: headersOf(secret), secret })).toEqual(event);
    expect(verifyWebhook({ body: Buffer.from(body), headers: new Headers(headersOf(secret)), secret })).toEqual(event);
  });

  it('fits while its secret is exchanged, with either', () => {
    const next = newSecret();
    const both = headersOf(secret);
    both['webhook-signature'] += ` ${headersOf(next)['webhook-signature']}`;
    for (const known of [secret, next])
      expect(verifyWebhook({ body, headers: both, secret: known }).id).toBe('event-1');
    expect(verifyWebhook({ body, headers: headersOf(next), secret: [secret, next] }).id).toBe('event-1');
  });

  it.each([
    ['has another body', { body: body.replace('1', '2') }],
    ['is signed by another secret', { headers: headersOf(newSecret()) }],
    ['has another id', { headers: { ...headersOf(secret), 'Webhook-Id': 'event-2' } }],
    ['is too old', { headers: headersOf(secret, new Date(Date.now() - 301_000)) }],
    ['comes from the future', { headers: headersOf(secret, new Date(Date.now() + 302_000)) }],
    ['has no signature', { headers: { ...headersOf(secret), 'webhook-signature': '' } }],
    ['has a signature of another kind', { headers: { ...headersOf(secret), 'webhook-signature': 'v2,AAAA' } }],
    ['has a timestamp that is no number', { headers: { ...headersOf(secret), 'webhook-timestamp': 'now' } }],
  ])('that %s is refused', (_, change) => {
    expect(() => verifyWebhook({ body, headers: headersOf(secret), secret, ...change })).toThrow(
      WebhookVerificationError,
    );
  });
});
