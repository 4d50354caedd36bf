import type { Effect, ErrorCode } from '../errors.ts';

/** What the client itself reports: no answer came, or not in time. */
export type ClientErrorCode = 'UNREACHABLE' | 'TIMED_OUT' | 'UNREADABLE_ANSWER';

export interface ErrorDetails {
  /** The status of the answer, if there was one. */
  status?: number | undefined;
  effect?: Effect | undefined;
  operationId?: string | undefined;
  problem?: Record<string, unknown> | undefined;
  cause?: unknown;
}

/** Every way in which a call can fail. `code` says which, `effect` what became of the operation. */
export class SemelError extends Error {
  override readonly name = 'SemelError';
  readonly code: ErrorCode | ClientErrorCode;
  readonly status: number | undefined;
  /** `unknown` means: ask again with the same key. Undefined where no operation is concerned. */
  readonly effect: Effect | undefined;
  readonly operationId: string | undefined;
  /** The whole problem (RFC 9457) as the service sent it. */
  readonly problem: Record<string, unknown> | undefined;

  constructor(code: ErrorCode | ClientErrorCode, detail: string, details: ErrorDetails = {}) {
    super(`${code}: ${detail}`, details.cause === undefined ? {} : { cause: details.cause });
    this.code = code;
    this.status = details.status;
    this.effect = details.effect;
    this.operationId = details.operationId;
    this.problem = details.problem;
  }
}

/** The error that a problem of the service stands for. Something in between may have answered in its own words. */
export function errorOfProblem(status: number, text: string): SemelError {
  const problem = parseObject(text);
  if (typeof problem?.code !== 'string') {
    return new SemelError('UNREADABLE_ANSWER', `the answer with status ${status} is no problem of Semel`, { status });
  }
  const { code, detail, effect, operationId } = problem;
  return new SemelError(code as ErrorCode, typeof detail === 'string' ? detail : code, {
    status,
    effect: effect as Effect | undefined,
    operationId: operationId as string | undefined,
    problem,
  });
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
