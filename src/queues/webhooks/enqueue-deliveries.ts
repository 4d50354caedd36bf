import { v7 as uuidv7 } from 'uuid';
import type { Database } from '../../store/database.ts';
import type { EventRow } from '../../store/events.ts';
import { addDeliveries } from '../../store/webhook-deliveries.ts';
import { listSubscribers } from '../../store/webhooks.ts';

export type WebhookEvent = Pick<EventRow, 'id' | 'type' | 'client' | 'data' | 'created_at'>;

/** One delivery for each enabled webhook of the client that wants the type. Any number of calls for an event add it once. */
export async function enqueueDeliveries(db: Database, event: WebhookEvent): Promise<void> {
  const subscribers = await listSubscribers(db, event.client, event.type);
  if (subscribers.length > 0)
    await addDeliveries(
      db,
      subscribers.map((webhook) => toDelivery(webhook.id, event)),
    );
}

/** A ping to one webhook, whatever it has subscribed to. Returns the id of its event. */
export async function enqueueTestDelivery(db: Database, webhook: { id: string; client: string }): Promise<string> {
  const id = uuidv7();
  const data = { webhookId: webhook.id };
  const event = { id, type: 'webhook.test', client: webhook.client, data, created_at: new Date() };
  await addDeliveries(db, [toDelivery(webhook.id, event)]);
  return id;
}

function toDelivery(webhookId: string, event: WebhookEvent) {
  const { id, type, data, created_at } = event;
  const body = JSON.stringify({ type, timestamp: created_at.toISOString(), data });
  return { id: uuidv7(), webhook_id: webhookId, event_id: id, type, body };
}
