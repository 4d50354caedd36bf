import { pino } from 'pino';
import { v7 as uuidv7 } from 'uuid';
import {
  type AlertMailer,
  type AlertMailerParts,
  type AlertMailerTiming,
  createAlertMailer,
} from '../../../src/queues/alerts/alert-mailer.ts';
import { type AlertEvent, queueAlert } from '../../../src/queues/alerts/queue-alert.ts';
import type { AlertRow } from '../../../src/store/alerts.ts';
import type { Database } from '../../../src/store/database.ts';
import type { MailTransport } from '../../../src/store/mail/mail-transport.ts';
import { openSmtpTransport } from '../../../src/store/mail/smtp-transport.ts';

export const operator = 'ops@example.com';

const codes = ['OPERATION_FAILED', 'UNAVAILABLE'];

/** Events as the engine writes them when it gives up. */
export function failOperations(count: number): AlertEvent[] {
  return Array.from({ length: count }, (_, index) => {
    const operationId = uuidv7();
    const data = { operationId, operation: 'transfer.create', key: 'ada@example.com', code: codes[index % 2] };
    return { id: `${operationId}.1`, type: 'operation.failed', client: 'default', record_id: operationId, data };
  });
}

export async function queueAll(db: Database, events: readonly AlertEvent[]): Promise<readonly AlertEvent[]> {
  await Promise.all(events.map((event) => queueAlert(db, event, operator)));
  return events;
}

/** Without gathering and pauses, unless the test is about them. */
const impatient: AlertMailerTiming = { gatherMs: 0, pauseMs: 0, leaseMs: 60_000, retryMs: 50, maxRetryMs: 50 };

export function mailerFor(
  db: Database,
  transport: string | Pick<MailTransport, 'send'>,
  timing: Partial<AlertMailerTiming> = {},
  more: Partial<AlertMailerParts> = {},
): AlertMailer {
  return createAlertMailer({
    db,
    transport: typeof transport === 'string' ? openSmtpTransport(transport, { timeoutMs: 10_000 }) : transport,
    from: 'Semel <semel@example.com>',
    to: operator,
    log: pino({ level: 'silent' }),
    timing: { ...impatient, ...timing },
    ...more,
  });
}

export async function listAlerts(db: Database): Promise<AlertRow[]> {
  return await db.selectFrom('alerts').selectAll().orderBy('event_id').execute();
}
