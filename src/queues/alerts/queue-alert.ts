import { z } from 'zod';
import { insertAlert } from '../../store/alerts.ts';
import type { Database } from '../../store/database.ts';

/** What an alert is made of: a row of the table `events`. */
export interface AlertEvent {
  id: string;
  type: string;
  client: string;
  record_id: string;
  data: unknown;
}

const unnamed = 'unknown';
/** The key is left out on purpose: clients put what they like into it. */
const failedOperation = z.object({ operation: z.string().catch(unnamed), code: z.string().catch(unnamed) });

/**
 * Notes that the operator is to be told of an operation that failed for good. An event that is noted already, or of
 * another type, changes nothing. Without an operator (`to`, ALERT_MAIL_TO) nobody is to be told, and nothing is kept.
 */
export async function queueAlert(db: Database, event: AlertEvent, to: string | undefined): Promise<void> {
  if (to === undefined || event.type !== 'operation.failed') return;
  // An event that is not as expected is a reason for an alert and not against it.
  const { operation, code } = failedOperation.catch({ operation: unnamed, code: unnamed }).parse(event.data);
  await insertAlert(db, { event_id: event.id, client: event.client, record_id: event.record_id, operation, code });
}
