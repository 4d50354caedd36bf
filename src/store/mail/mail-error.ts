/** Whether the mail may have been taken all the same. */
export type MailOutcome = 'not_sent' | 'unknown';

/**
 * Where it went wrong. Only `rcpt` speaks of the recipient: `connect` is the server or the login, and so is a
 * connection lost before the mail; `compose` is the mail itself, which no server has seen.
 */
export type MailStage = 'compose' | 'connect' | 'mail' | 'rcpt' | 'data';

/** A mail that was not confirmed. The message names no address, so that it may be logged and kept. */
export class MailError extends Error {
  readonly outcome: MailOutcome;
  /** What the mail server answered, if it did: 4xx is for later, 5xx is its last word. */
  readonly responseCode: number | undefined;
  readonly stage: MailStage | undefined;

  constructor(outcome: MailOutcome, message: string, responseCode?: number, stage?: MailStage) {
    super(withoutAddresses(message));
    this.name = 'MailError';
    this.outcome = outcome;
    this.responseCode = responseCode;
    this.stage = stage;
  }
}

/** Servers like to repeat whom they refuse, and at length. Three hundred characters are enough to know why. */
function withoutAddresses(message: string): string {
  return message.slice(0, 300).replaceAll(/[^\s<>]{1,300}@[^\s<>]{1,300}/g, '…@…');
}
