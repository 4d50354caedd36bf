import type { MailSink } from './mail-sink.ts';
import { formatCount, type Screen } from './screen.ts';
import type { SemelApi } from './semel-api.ts';
import { waitUntil } from './wait-until.ts';

interface Mailing {
  readonly status: string;
  readonly totals: { readonly sent: number; readonly unknown: number };
}

interface Entry {
  readonly line: number;
  readonly email: string;
}

export const mailingRows = 2_000;
// Slow enough to be seen and to be interrupted in the middle.
const ratePerSecond = 400;

export const addresses: readonly string[] = Array.from(
  { length: mailingRows },
  (_, index) => `reader${index + 1}@example.com`,
);

/** Twice, as somebody does who is not sure whether it worked. */
export async function uploadMailing(api: SemelApi, screen: Screen): Promise<string> {
  const upload = (): Promise<{ mailingId: string; created: boolean }> => {
    const form = new FormData();
    form.set('subject', 'News for {{name}}');
    form.set('text', 'Dear {{name}}, there is news. No more of it: {{unsubscribeUrl}}');
    form.set('ratePerSecond', String(ratePerSecond));
    const rows = addresses.map((address, index) => `${address},Reader ${index + 1}\n`);
    form.set('file', new Blob(['email,name\n', ...rows]), 'readers.csv');
    return api.ask('/v1/mailings', { body: form });
  };
  const [first, second] = [await upload(), await upload()];
  screen.say(`readers.csv with ${formatCount(mailingRows)} rows is uploaded. Uploaded once more, to be sure.`);
  if (first.mailingId !== second.mailingId) screen.say('These are two mailings.');
  else screen.say(`The second upload is recognised: created is ${second.created}, and the mailing is the same one.`);
  return first.mailingId;
}

/** Watches the mail server, and not what Semel says about itself. */
export async function waitForMails(sink: MailSink, screen: Screen, count: number): Promise<void> {
  await waitUntil(() => {
    screen.progress('mails at the mail server', sink.received.size, mailingRows);
    return sink.received.size >= count;
  }, `There were never ${count} mails`);
}

export async function waitForMailing(api: SemelApi, screen: Screen, sink: MailSink, id: string): Promise<Mailing> {
  let mailing: Mailing | undefined;
  await waitUntil(async () => {
    screen.progress('mails at the mail server', sink.received.size, mailingRows);
    mailing = await api.ask<Mailing>(`/v1/mailings/${id}`);
    return mailing.status === 'COMPLETED';
  }, 'The mailing was never completed');
  if (!mailing) throw new Error('There is no mailing.');
  return mailing;
}

/** Does what a person would do: looks into the log of the mail server, and tells Semel what is there. */
export async function settleDoubts(api: SemelApi, screen: Screen, sink: MailSink, id: string): Promise<number> {
  const { items: doubtful } = await api.ask<{ items: Entry[] }>(`/v1/mailings/${id}/entries?status=UNKNOWN&limit=200`);
  if (doubtful.length === 0) {
    screen.say('None is in doubt: the worker was killed between two mails.');
    return 0;
  }
  const arrived = doubtful.filter(({ email }) => sink.received.has(email));
  const missing = doubtful.filter(({ email }) => !sink.received.has(email));
  screen.say(
    `${screen.paint('yellow', `${doubtful.length} are in doubt (UNKNOWN)`)}: the killed worker had them in hand,`,
  );
  screen.say(
    'and nobody can tell from inside whether they went out. Semel does not guess and does not send them twice.',
  );
  screen.say(`The log of the mail server knows: ${arrived.length} arrived, ${missing.length} did not.`);
  for (const { line } of arrived) {
    const body = { outcome: 'applied', note: 'seen in the log of the mail server' };
    await api.ask(`/v1/mailings/${id}/entries/${line}/resolve`, { body });
  }
  for (const { line } of missing) await api.ask(`/v1/mailings/${id}/entries/${line}/resend`, { body: {} });
  screen.say(`So a person says: ${arrived.length} as sent, ${missing.length} to be sent again.`);
  return doubtful.length;
}
