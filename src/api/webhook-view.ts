import { z } from 'zod';
import { id, instant } from '../processors/fields.ts';
import { deliveryStatuses, type WebhookDeliveryRow } from '../store/webhook-deliveries.ts';
import type { WebhookRow } from '../store/webhooks.ts';

export const webhookSchema = z
  .strictObject({
    id,
    url: z.string(),
    events: z.array(z.string()),
    status: z.enum(['ENABLED', 'DISABLED']),
    disabledAt: instant.nullable(),
    disabledReason: z.string().nullable(),
    createdAt: instant,
  })
  .meta({ id: 'Webhook' });

export const deliverySchema = z
  .strictObject({
    id,
    eventId: id.describe('The `webhook-id` of every attempt.'),
    type: z.string(),
    status: z.enum(deliveryStatuses),
    attempts: z.int(),
    lastStatus: z.int().nullable().describe('The status that the receiver answered last.'),
    lastError: z.string().nullable(),
    nextAttemptAt: instant.nullable(),
    createdAt: instant,
    deliveredAt: instant.nullable(),
  })
  .meta({ id: 'Delivery' });

/** A webhook as its owner sees it after the registration: without the secret. */
export function webhookView(webhook: WebhookRow): z.infer<typeof webhookSchema> {
  return {
    id: webhook.id,
    url: webhook.url,
    events: webhook.events,
    status: webhook.disabled_at ? 'DISABLED' : 'ENABLED',
    disabledAt: webhook.disabled_at?.toISOString() ?? null,
    disabledReason: webhook.disabled_reason,
    createdAt: webhook.created_at.toISOString(),
  };
}

export function deliveryView(delivery: WebhookDeliveryRow): z.infer<typeof deliverySchema> {
  return {
    id: delivery.id,
    eventId: delivery.event_id,
    type: delivery.type,
    status: delivery.status,
    attempts: delivery.attempts,
    lastStatus: delivery.last_status,
    lastError: delivery.last_error,
    nextAttemptAt: delivery.next_attempt_at?.toISOString() ?? null,
    createdAt: delivery.created_at.toISOString(),
    deliveredAt: delivery.delivered_at?.toISOString() ?? null,
  };
}
