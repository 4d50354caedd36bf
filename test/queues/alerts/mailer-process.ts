import { openDatabase } from '../../../src/store/database.ts';
import { mailerFor } from './alerts.ts';

// A mailer in a process of its own, for tests that kill it: <database url> <smtp url>.
const [url = '', smtpUrl = ''] = process.argv.slice(2);
const db = openDatabase({
  url,
  poolSize: 1,
  applicationName: 'mailer',
  idleInTransactionTimeoutMs: 0,
  onError: () => undefined,
});
await mailerFor(db, smtpUrl).runOnce();
