import type { Instant } from '../columns.ts';

/** A claim under which a mail was sent, beside the one that its entry names. Whatever has a row here may be a double. */
export interface MailingSendsTable {
  mailing_id: string;
  line: number;
  epoch: number;
  at: Instant;
}
