import { pino } from 'pino';
import { v7 as uuidv7 } from 'uuid';
import { readConfig } from '../../../src/config.ts';
import { enqueueDeliveries, type WebhookEvent } from '../../../src/queues/webhooks/enqueue-deliveries.ts';
import { createWebhookPump, type WebhookPumpParts } from '../../../src/queues/webhooks/pump.ts';
import { deriveSecret } from '../../../src/queues/webhooks/signing.ts';
import { openSecretKey } from '../../../src/store/secret-key.ts';
import { insertWebhook } from '../../../src/store/webhooks.ts';
import { openTestStores, type TestStores } from '../../support/service.ts';

export type PumpFixture = Awaited<ReturnType<typeof openPumpFixture>>;

/** Stores of the test's own, and all that is needed to register, enqueue and send without a service around it. */
export async function openPumpFixture(environment: Record<string, string> = {}) {
  const stores: TestStores = await openTestStores({
    WEBHOOK_ALLOW_PRIVATE: 'true',
    WEBHOOK_RETRY_DELAYS_MS: '60000,60000',
    WEBHOOK_TIMEOUT_MS: '400',
    SEMEL_SECRET_KEY: 'a-key-for-tests-of-at-least-32-characters',
    ...environment,
  });
  const config = readConfig(stores.environment);
  const { db } = stores;

  const register = async (url: string, events = ['transfer.completed'], client = 'default') =>
    await db.transaction().execute(async (tx) => await insertWebhook(tx, { id: uuidv7(), client, url, events }));

  const emit = async (more: Partial<WebhookEvent> = {}): Promise<WebhookEvent> => {
    const base = {
      id: `evt-${uuidv7()}`,
      type: 'transfer.completed',
      client: 'default',
      data: { amount: 7, text: 'ü' },
    };
    const event = { ...base, created_at: new Date(), ...more };
    await enqueueDeliveries(db, event);
    return event;
  };

  return {
    db,
    config,
    register,
    emit,
    createPump: (more: Partial<WebhookPumpParts> = {}) =>
      createWebhookPump({ db, log: pino({ level: 'silent' }), config, hitFailpoint: () => undefined, ...more }),
    secretOf: (webhookId: string, version = 1) => deriveSecret(openSecretKey(config)(), webhookId, version),
    deliveriesOf: async (webhookId: string) =>
      await db.selectFrom('webhook_deliveries').selectAll().where('webhook_id', '=', webhookId).orderBy('id').execute(),
    webhook: async (id: string) =>
      await db.selectFrom('webhooks').selectAll().where('id', '=', id).executeTakeFirstOrThrow(),
    /** What happens when the lease of everything that was taken runs out. */
    endLeases: async () => {
      await db
        .updateTable('webhook_deliveries')
        .set({ next_attempt_at: new Date(0) })
        .where('status', '=', 'PENDING')
        .execute();
    },
    close: stores.close,
  };
}
