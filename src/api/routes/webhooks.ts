import { Hono } from 'hono';
import { z } from 'zod';
import { AppError } from '../../errors.ts';
import { id } from '../../processors/fields.ts';
import { registerWebhook } from '../../processors/webhooks/register-webhook.ts';
import { enqueueTestDelivery } from '../../queues/webhooks/enqueue-deliveries.ts';
import { listDeliveries } from '../../store/webhook-deliveries.ts';
import { deleteWebhook, findWebhook, listWebhooks, rotateSecret } from '../../store/webhooks.ts';
import type { ApiContext, ApiEnv, ApiParts } from '../api-env.ts';
import { jsonResponse } from '../json-response.ts';
import { operationRoute } from '../operation-route.ts';
import { decodeCursor, pageQuery, toPage } from '../paging.ts';
import { readId } from '../read-id.ts';
import { validate } from '../read-json.ts';
import { deliveryView, webhookView } from '../webhook-view.ts';

export const webhooksQuery = z.strictObject(pageQuery);

export const testDeliverySchema = z.strictObject({ eventId: id });
export const rotatedSecretSchema = z.strictObject({ secret: z.string() });

/** How long the old secret signs as well: a working day, wherever the people are who have to exchange it. */
const overlapMs = 24 * 3_600_000;
/** A header holds only so much, and nobody needs the secret before the last two. */
const maxSigning = 3;

export function webhookRoutes(parts: ApiParts): Hono<ApiEnv> {
  const findOwn = async (c: ApiContext) =>
    (await findWebhook(parts.db, c.get('caller').client, readId(c))) ?? notFound();
  const readPage = (c: ApiContext) => {
    const { limit, cursor } = validate(webhooksQuery, c.req.query());
    return { limit, before: decodeCursor(cursor, z.uuid()) };
  };

  return new Hono<ApiEnv>()
    .post('/', operationRoute(parts, registerWebhook))
    .get('/', async (c) => {
      const { limit, before } = readPage(c);
      const rows = await listWebhooks(parts.db, c.get('caller').client, { limit: limit + 1, before });
      return jsonResponse(c, toPage(rows, limit, webhookView));
    })
    .get('/:id', async (c) => jsonResponse(c, webhookView(await findOwn(c))))
    .delete('/:id', async (c) => {
      if (!(await deleteWebhook(parts.db, c.get('caller').client, readId(c)))) notFound();
      return new Response(null, { status: 204, headers: { 'x-request-id': c.get('requestId') } });
    })
    .get('/:id/deliveries', async (c) => {
      const { limit, before } = readPage(c);
      const rows = await listDeliveries(parts.db, (await findOwn(c)).id, { limit: limit + 1, before });
      return jsonResponse(c, toPage(rows, limit, deliveryView));
    })
    .post('/:id/test', async (c) => {
      const webhook = await findOwn(c);
      if (webhook.disabled_at) throw new AppError('INVALID_STATE', 'The webhook is disabled. Register it again.');
      const eventId = await enqueueTestDelivery(parts.db, webhook);
      return jsonResponse(c, { eventId } satisfies z.infer<typeof testDeliverySchema>, 202);
    })
    .post('/:id/rotate-secret', async (c) => {
      const { client } = c.get('caller');
      const webhook =
        (await rotateSecret(parts.db, { client, id: readId(c) }, { overlapMs, maxSigning })) ?? notFound();
      const secret = parts.operationHost.webhookSecretOf(webhook.id, webhook.secret_version);
      return jsonResponse(c, { secret } satisfies z.infer<typeof rotatedSecretSchema>);
    });
}

function notFound(): never {
  throw new AppError('NOT_FOUND', 'There is no such webhook.');
}
