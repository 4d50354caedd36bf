import type { Logger } from 'pino';
import type { HitFailpoint } from '../../failpoints.ts';
import type { Database } from '../../store/database.ts';
import {
  type ClaimedDelivery,
  disableWebhook,
  noteDelivered,
  noteFailedAttempt,
} from '../../store/webhook-deliveries.ts';
import { pauseAfter } from './backoff.ts';
import { type AttemptOutcome, sendAttempt } from './send.ts';
import { deriveSecret, signatureHeaders } from './signing.ts';
import type { TargetGuard } from './target-guard.ts';

export interface DeliveryContext {
  db: Database;
  log: Logger;
  guard: TargetGuard;
  secretKey: () => Buffer;
  hitFailpoint: HitFailpoint;
  config: { WEBHOOK_RETRY_DELAYS_MS: readonly number[]; WEBHOOK_TIMEOUT_MS: number };
}

/** Long enough for a long weekend and the Monday after it; by then every single delivery was given up days ago. */
const maxFailingMs = 5 * 86_400_000;

/** Sends a claimed delivery and notes the outcome. */
export async function attemptDelivery(context: DeliveryContext, claimed: ClaimedDelivery): Promise<void> {
  context.hitFailpoint('webhook.claimed');
  const headers = signatureHeaders(
    { id: claimed.event_id, timestampSeconds: Math.floor(Date.now() / 1000), body: claimed.body },
    secretsOf(context, claimed),
  );
  const { url, body } = claimed;
  const timeoutMs = context.config.WEBHOOK_TIMEOUT_MS;
  const outcome = await sendAttempt(context.guard, { url, headers, body, timeoutMs });
  context.hitFailpoint('webhook.answered');
  await noteOutcome(context, claimed, outcome);
}

/** The newest first; during the overlap of a rotation, those before it as well. */
function secretsOf(context: DeliveryContext, claimed: ClaimedDelivery): string[] {
  const { webhook_id, secret_version, oldest_signing_version } = claimed;
  const count = secret_version - oldest_signing_version + 1;
  return Array.from({ length: count }, (_, age) => deriveSecret(context.secretKey(), webhook_id, secret_version - age));
}

async function noteOutcome(context: DeliveryContext, claimed: ClaimedDelivery, outcome: AttemptOutcome): Promise<void> {
  const { db, log } = context;
  const about = { webhookId: claimed.webhook_id, eventId: claimed.event_id, attempt: claimed.attempts };
  if (outcome.kind === 'delivered') {
    await noteDelivered(db, claimed, outcome.status);
    log.debug(about, 'webhook delivered');
    return;
  }
  const isGone = outcome.kind === 'gone';
  const lastError = isGone ? 'The receiver answered 410: it wants no more.' : outcome.error;
  const retryAfterMs = isGone ? null : pauseAfter(claimed.attempts, context.config.WEBHOOK_RETRY_DELAYS_MS);
  await noteFailedAttempt(db, claimed, { lastStatus: outcome.status, lastError, retryAfterMs });
  log.info({ ...about, status: outcome.status, retryAfterMs }, 'a webhook delivery failed');
  const disabled = await disableWebhook(
    db,
    claimed.webhook_id,
    isGone ? { reason: 'It answered 410.' } : { reason: 'It failed for five days.', failingForMs: maxFailingMs },
  );
  if (disabled) log.warn(about, 'a webhook was disabled');
}
