import type { AlertRow } from '../../store/alerts.ts';
import { groupBy } from '../../store/group-by.ts';

/** As many as somebody reads. The rest is counted, and found by the path at the end. */
const maxListed = 50;

export function alertSubject(count: number): string {
  return count === 1 ? '1 operation failed' : `${count} operations failed`;
}

/** Counts and ids: no requests, no keys, no messages of errors, which may hold what is nobody's business. */
export function alertText(alerts: readonly AlertRow[]): string {
  return [
    `${alertSubject(alerts.length)} after the last attempt and will not be tried again by itself.`,
    '',
    ...countLines(alerts),
    '',
    ...alerts.slice(0, maxListed).map(alertLine),
    ...(alerts.length > maxListed ? [`… and ${alerts.length - maxListed} more`] : []),
    '',
    'All of them: GET /v1/operations?status=FAILED with a key of the client',
    '',
  ].join('\n');
}

function countLines(alerts: readonly AlertRow[]): string[] {
  const groups = groupBy(alerts, (alert) => `${plain(alert.operation)}  ${plain(alert.code)}`);
  return [...groups]
    .toSorted(([, a], [, b]) => b.length - a.length)
    .map(([name, group]) => `${String(group.length).padStart(6)}  ${name}`);
}

function alertLine(alert: AlertRow): string {
  const at = alert.created_at.toISOString();
  return `${at}  /v1/operations/${alert.record_id}  ${plain(alert.operation)}  ${plain(alert.code)}  client ${plain(alert.client)}`;
}

/** One line of the mail stays one line, whatever is in a name. */
function plain(value: string): string {
  return value.slice(0, 100).replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]/gu, ' ');
}
