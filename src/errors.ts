/** What became of the effect of an operation, as far as anyone can tell. */
export type Effect = 'applied' | 'not_applied' | 'unknown';

/** Every code that a client may see, with its status and title. Codes are stable; texts may improve. */
const codes = {
  INVALID_REQUEST: { status: 400, title: 'The request is not valid' },
  IDEMPOTENCY_KEY_REQUIRED: { status: 400, title: 'This operation needs an Idempotency-Key' },
  IDEMPOTENCY_KEY_INVALID: { status: 400, title: 'The Idempotency-Key is malformed' },
  CSV_INVALID: { status: 400, title: 'The file cannot be read as CSV' },
  CSV_EMPTY: { status: 400, title: 'There is nothing in the file' },
  TEMPLATE_INVALID: { status: 400, title: 'A text of the mailing is not valid' },
  UNAUTHENTICATED: { status: 401, title: 'A valid API key is needed' },
  FORBIDDEN: { status: 403, title: 'The API key lacks the scope' },
  NOT_FOUND: { status: 404, title: 'Nothing is here' },
  OPERATION_IN_PROGRESS: { status: 409, title: 'The operation is still in progress' },
  FILENAME_REUSED: { status: 409, title: 'The filename belongs to another file' },
  EMAIL_TAKEN: { status: 409, title: 'Another customer has this email' },
  VERSION_CONFLICT: { status: 409, title: 'Someone changed it since the version that you saw' },
  INVALID_STATE: { status: 409, title: 'Its state does not allow this' },
  LAST_ADMIN_KEY: { status: 409, title: 'It is the last key with the scope admin' },
  TOO_LARGE: { status: 413, title: 'The request is too large' },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, title: 'The content type is not understood' },
  INCONSISTENT_REQUEST: { status: 422, title: 'The key was used for another request' },
  INSUFFICIENT_FUNDS: { status: 422, title: 'The account does not hold enough' },
  SAME_ACCOUNT: { status: 422, title: 'Both accounts are the same' },
  CURRENCY_MISMATCH: { status: 422, title: 'The accounts have different currencies' },
  ACCOUNT_NOT_FOUND: { status: 422, title: 'The account does not exist' },
  CUSTOMER_NOT_FOUND: { status: 422, title: 'The customer does not exist' },
  WEBHOOK_URL_REFUSED: { status: 422, title: 'Nothing may be sent to this URL' },
  BALANCE_LIMIT: { status: 422, title: 'The balance would grow beyond what can be represented' },
  RATE_LIMITED: { status: 429, title: 'Too many requests' },
  INTERNAL: { status: 500, title: 'Something went wrong on our side' },
  OPERATION_FAILED: { status: 500, title: 'The operation failed after its last attempt' },
  OUTCOME_UNKNOWN: { status: 500, title: 'Nobody can tell yet whether the effect happened' },
  UNAVAILABLE: { status: 503, title: 'The service cannot take this right now' },
} as const satisfies Record<string, { status: number; title: string }>;

export type ErrorCode = keyof typeof codes;

export const errorCodes = Object.keys(codes) as readonly ErrorCode[];

export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  code: ErrorCode;
  [extra: string]: unknown;
}

export function statusOf(code: ErrorCode): number {
  return codes[code].status;
}

/** The RFC 9457 body of an error. It is a pure function of its input, so a stored refusal replays to the same bytes. */
export function problemOf(code: ErrorCode, detail: string, extra: Record<string, unknown> = {}): Problem {
  const { title, status } = codes[code];
  return { type: 'about:blank', title, status, detail, code, ...extra };
}

/** An error with a code that the client may see. `detail` is public; `cause` is for the log only. */
export class AppError extends Error {
  readonly code: ErrorCode;
  readonly extra: Record<string, unknown>;
  readonly headers: Record<string, string>;

  constructor(
    code: ErrorCode,
    detail: string,
    options: { extra?: Record<string, unknown>; headers?: Record<string, string>; cause?: unknown } = {},
  ) {
    super(detail, { cause: options.cause });
    this.name = 'AppError';
    this.code = code;
    this.extra = options.extra ?? {};
    this.headers = options.headers ?? {};
  }
}
