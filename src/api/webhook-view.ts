import type { WebhookDeliveryRow } from '../store/webhook-deliveries.ts';
import type { WebhookRow } from '../store/webhooks.ts';

/** A webhook as its owner sees it after the registration: without the secret. */
export function webhookView(webhook: WebhookRow) {
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

export function deliveryView(delivery: WebhookDeliveryRow) {
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
