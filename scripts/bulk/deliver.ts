import { setTimeout as sleep } from 'node:timers/promises';
import type { Service } from './find-service.ts';
import type { Row } from './row.ts';
import { type LineAnswer, NotNow, sendBatch } from './send-batch.ts';

/** A row that was not taken, and why. */
export interface Refusal {
  readonly row: Row;
  readonly code: string;
  readonly reason: string;
}

export interface Delivery {
  readonly service: Service;
  readonly operation: string;
  readonly patienceMs: number;
  readonly stop: AbortSignal;
  readonly onTaken: (row: Row, isNew: boolean) => void;
  /** The service said no. */
  readonly onRefused: (refusal: Refusal) => void;
  /** We gave up, or the service failed: nothing is known to be wrong with the row. */
  readonly onFailed: (refusal: Refusal) => void;
  /** Something to wait for, for people. */
  readonly onWait: (reason: string, ms: number) => void;
}

/** Answers after which the same line, with the same key, may well be taken. */
const forLater: readonly (string | undefined)[] = ['UNAVAILABLE', 'RATE_LIMITED'];
const firstPauseMs = 250;
const longestPauseMs = 10_000;

/** Sends rows until each has an answer that stays. False if it gave up. */
export async function deliver(delivery: Delivery, rows: readonly Row[]): Promise<boolean> {
  const left = new Set(rows);
  let lastSuccessMs = Date.now();
  let pauseMs = firstPauseMs;
  while (left.size > 0 && !delivery.stop.aborted) {
    const before = left.size;
    const hindrance = await sendOnce(delivery, left);
    if (left.size < before) {
      lastSuccessMs = Date.now();
      pauseMs = firstPauseMs;
    }
    if (left.size === 0 || delivery.stop.aborted) break;
    if (Date.now() - lastSuccessMs > delivery.patienceMs) return giveUp(delivery, left, hindrance.reason);
    // Jitter, so that several do not come back all at once.
    const waitMs = hindrance.retryAfterMs ?? pauseMs * (0.5 + Math.random() / 2);
    delivery.onWait(hindrance.reason, waitMs);
    await sleep(waitMs, undefined, { signal: delivery.stop }).catch(() => undefined);
    pauseMs = Math.min(pauseMs * 2, longestPauseMs);
  }
  return true;
}

interface Hindrance {
  reason: string;
  retryAfterMs?: number | undefined;
}

async function sendOnce(delivery: Delivery, left: Set<Row>): Promise<Hindrance> {
  const { service, operation, stop } = delivery;
  let hindrance: Hindrance = { reason: 'The answer ended too early.' };
  const onAnswer = (row: Row, answer: LineAnswer) => {
    if (forLater.includes(answer.code)) {
      const retryAfterMs = answer.retryAfterSeconds === undefined ? undefined : answer.retryAfterSeconds * 1_000;
      hindrance = { reason: answer.detail ?? 'not now', retryAfterMs };
      return;
    }
    left.delete(row);
    settle(delivery, row, answer);
  };
  try {
    await sendBatch(service, { operation, rows: [...left] }, onAnswer, stop);
  } catch (error) {
    if (!(error instanceof NotNow)) throw error;
    hindrance = { reason: error.message, retryAfterMs: error.retryAfterMs };
  }
  return hindrance;
}

function settle(delivery: Delivery, row: Row, { operationId, created, code, detail }: LineAnswer): void {
  const refusal = { row, code: code ?? 'INTERNAL', reason: detail ?? 'The service gave no reason.' };
  if (operationId !== undefined && code === undefined) delivery.onTaken(row, created === true);
  else if (refusal.code === 'INTERNAL') delivery.onFailed(refusal);
  else delivery.onRefused(refusal);
}

function giveUp(delivery: Delivery, left: ReadonlySet<Row>, reason: string): false {
  for (const row of left) delivery.onFailed({ row, code: 'GIVEN_UP', reason });
  return false;
}
