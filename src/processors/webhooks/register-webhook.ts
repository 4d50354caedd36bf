import { z } from 'zod';
import { insertWebhook } from '../../store/webhooks.ts';
import { defineOperation, printableKey } from '../define-operation.ts';
import { id, text } from '../fields.ts';
import { succeeded } from '../outcomes.ts';

/** What a webhook can subscribe to. */
export const webhookEventTypes = [
  'transfer.completed',
  'transfer.rejected',
  'proposal.submitted',
  'proposal.accepted',
  'proposal.rejected',
  'mailing.completed',
  'operation.failed',
] as const;

/** The stored answer has no secret: it is made anew for every answer. */
const storedBody = z.strictObject({ id, url: z.string(), events: z.array(z.string()) });

export const registeredWebhookSchema = storedBody
  .extend({ secret: z.string().describe('Shown here and never again. It verifies the signatures of deliveries.') })
  .meta({ id: 'RegisteredWebhook' });

export const registerWebhook = defineOperation({
  name: 'webhook.register',
  request: z.strictObject({
    url: text(2_048).refine(isPlainWebUrl, 'must be an http or https URL without user, password and fragment'),
    events: z
      .array(z.enum(webhookEventTypes))
      .min(1)
      .refine((events) => new Set(events).size === events.length, 'must not name an event twice'),
  }),
  success: { status: 201, body: registeredWebhookSchema },
  admitRejects: ['WEBHOOK_URL_REFUSED'],
  key: { required: false, pattern: printableKey },
  onMismatch: 'reject',
  replay: 'stored',
  admit: async ({ url }, host) => await host.checkWebhookUrl(url),
  present: (body, host): z.infer<typeof registeredWebhookSchema> => {
    const stored = storedBody.parse(body);
    return { ...stored, secret: host.webhookSecretOf(stored.id, 1) };
  },
  process: async ({ url, events }, { tx, record }) => {
    const webhook = await insertWebhook(tx, { id: record.id, client: record.client, url, events });
    const body = { id: webhook.id, url: webhook.url, events: webhook.events };
    return succeeded(201, body, { resource: { type: 'webhook', id: webhook.id } });
  },
});

/** The parser drops spaces around a URL and line breaks within; who sends such a thing means something else. */
function isPlainWebUrl(value: string): boolean {
  if (!/^https?:\/\/[^\s#]+$/i.test(value) || !URL.canParse(value)) return false;
  const { username, password } = new URL(value);
  return username === '' && password === '';
}
