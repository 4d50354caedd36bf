import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Config } from '../../config.ts';
import type { HitFailpoint } from '../../failpoints.ts';
import type { Database } from '../../store/database.ts';
import { openSecretKey } from '../../store/secret-key.ts';
import { type ClaimedDelivery, claimDeliveries } from '../../store/webhook-deliveries.ts';
import { attemptDelivery } from './attempt-delivery.ts';
import { createTargetGuard, type TargetGuard } from './target-guard.ts';

export type WebhookConfig = Pick<
  Config,
  'WEBHOOK_ALLOW_PRIVATE' | 'WEBHOOK_RETRY_DELAYS_MS' | 'WEBHOOK_TIMEOUT_MS' | 'SEMEL_SECRET_KEY' | 'SEMEL_DATA_DIR'
>;

export interface WebhookPumpParts {
  db: Database;
  log: Logger;
  config: WebhookConfig;
  hitFailpoint: HitFailpoint;
  /** Other than that of the configuration: for tests of what it refuses. */
  guard?: TargetGuard;
}

export interface WebhookPump {
  /** Starts what is due and returns how much that was. It waits for the outcomes, but not long for receivers that hang. */
  runOnce: () => Promise<number>;
  /** Resolves once nothing is on its way any more. */
  drain: () => Promise<void>;
}

/** Attempts at once in a process. They wait more than they work. */
const maxInFlight = 40;
/** Of these, to one webhook: one that hangs leaves room for the others. */
const maxPerWebhook = 10;
/** How long a round waits for outcomes before it leaves them alone and lets the next round look for what is new. */
const patienceMs = 1_000;
/** Between two claims of a round: what ends within it makes room together, and costs one query instead of many. */
const claimPauseMs = 5;
/** A round ends then, even if more is due: a shutdown waits for it, and has 25 seconds by default. */
const maxRoundMs = 10_000;

/** Sends what is due. Any number of pumps may run, in one process or many. */
export function createWebhookPump(parts: WebhookPumpParts): WebhookPump {
  const { db, log, config, hitFailpoint, guard: givenGuard } = parts;
  const guard = givenGuard ?? createTargetGuard({ allowPrivate: config.WEBHOOK_ALLOW_PRIVATE });
  const context = { db, log, guard, config, hitFailpoint, secretKey: openSecretKey(config) };
  // An attempt takes one timeout at most. As much again, and a second, for a process that is slow to note its outcome.
  const leaseMs = 2 * config.WEBHOOK_TIMEOUT_MS + 1_000;
  const inFlight = new Map<Promise<void>, string>();

  const start = (claimed: ClaimedDelivery) => {
    const attempt = attemptDelivery(context, claimed).catch((error: unknown) => {
      log.warn(
        { err: error, deliveryId: claimed.id },
        'a webhook delivery could not be attempted, or its outcome not noted',
      );
    });
    const tracked = attempt.finally(() => inFlight.delete(tracked));
    inFlight.set(tracked, claimed.webhook_id);
  };

  const claim = async (limit: number, busyWebhookIds: readonly string[]) =>
    limit > 0 ? await claimDeliveries(db, { limit, perWebhook: maxPerWebhook, leaseMs, busyWebhookIds }) : [];

  const runOnce = async () => {
    const endMs = Date.now() + maxRoundMs;
    let started = 0;
    for (;;) {
      const limit = maxInFlight - inFlight.size;
      const busy = busyAmong([...inFlight.values()]);
      const claimed = await claim(limit, busy);
      for (const delivery of claimed) start(delivery);
      started += claimed.length;
      // Nothing more is due, and nothing was left out because there was no room for it.
      const isEmpty = claimed.length === 0 && limit > 0 && busy.length === 0;
      const attempts = [...inFlight.keys()];
      // None is left if the last ones ended during the claim: then there is room again, and nothing to wait for.
      const ended =
        attempts.length === 0 ||
        (await endsWithin(isEmpty ? Promise.all(attempts) : Promise.race(attempts), patienceMs));
      if (isEmpty || !ended || Date.now() >= endMs) return started;
      await pause(claimPauseMs);
    }
  };

  return {
    runOnce,
    drain: async () => {
      await Promise.all(inFlight.keys());
    },
  };
}

/** The webhooks that have their share in flight. */
function busyAmong(webhookIds: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const id of webhookIds) counts.set(id, (counts.get(id) ?? 0) + 1);
  return [...counts].filter(([, count]) => count >= maxPerWebhook).map(([id]) => id);
}

async function endsWithin(work: Promise<unknown>, timeoutMs: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), timeoutMs);
  });
  const ended = await Promise.race([work.then(() => true), late]);
  clearTimeout(timer);
  return ended;
}
