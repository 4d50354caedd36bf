import { HttpConnection } from './http-connection.ts';
import type { LoadPlan, LoadResult } from './protocol.ts';
import { createRequests } from './requests.ts';

/** Beyond every server's own limit for an answer (Semel: 10 s), so that a lost answer is found out and not waited for. */
const answerTimeoutMs = 20_000;

/** Keeps every connection busy with one request at a time until the time, or the plan's keys, are used up. */
export function runLoad(plan: LoadPlan): Promise<LoadResult> {
  return new Promise((resolve, reject) => {
    const nextRequest = createRequests(plan);
    const latenciesMs: number[] = [];
    const statuses: Record<string, number> = {};
    const connections: HttpConnection[] = [];
    let measureFromMs = Number.POSITIVE_INFINITY;
    let measureUntilMs = Number.POSITIVE_INFINITY;
    let busy = 0;

    const end = (error?: Error): void => {
      clearTimeout(limit);
      for (const connection of connections) connection.close();
      if (error) reject(error);
      else resolve({ ...summarise(latenciesMs, plan.measureMs), statuses });
    };
    const limit = setTimeout(
      () => end(new Error(`${busy} requests were not answered`)),
      plan.warmupMs + plan.measureMs + answerTimeoutMs,
    );

    const drive = async (): Promise<void> => {
      let sentAtMs = 0;
      const send = (): void => {
        sentAtMs = performance.now();
        const request = sentAtMs < measureUntilMs ? nextRequest() : undefined;
        if (request !== undefined) connection.send(request);
        else {
          busy -= 1;
          if (busy === 0) end();
        }
      };
      const onAnswer = (status: number): void => {
        const nowMs = performance.now();
        statuses[status] = (statuses[status] ?? 0) + 1;
        if (nowMs >= measureFromMs && nowMs < measureUntilMs) latenciesMs.push(nowMs - sentAtMs);
        send();
      };
      const connection = await HttpConnection.open(plan.port, onAnswer, end);
      connections.push(connection);
      starts.push(send);
    };

    const starts: (() => void)[] = [];
    Promise.all(Array.from({ length: plan.connections }, drive)).then(() => {
      busy = plan.connections;
      measureFromMs = performance.now() + plan.warmupMs;
      if (plan.keys !== 'once') measureUntilMs = measureFromMs + plan.measureMs;
      for (const start of starts) start();
    }, end);
  });
}

function summarise(latenciesMs: number[], measureMs: number): Omit<LoadResult, 'statuses'> {
  const sorted = Float64Array.from(latenciesMs).sort();
  const at = (part: number): number => sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? 0;
  return { perSecond: (sorted.length * 1_000) / measureMs, p50Ms: at(0.5), p99Ms: at(0.99) };
}
