import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { countFromOutside } from './demo/count-from-outside.ts';
import { type Installation, startInstallation } from './demo/installation.ts';
import { type MailSink, startMailSink } from './demo/mail-sink.ts';
import { isFlawless, renderVerdict } from './demo/render-verdict.ts';
import { createScreen, formatCount, type Screen } from './demo/screen.ts';
import { openSemelApi } from './demo/semel-api.ts';
import { settleDoubts, uploadMailing, waitForMailing, waitForMails } from './demo/send-mailing.ts';
import { copies, openAccounts, queueTransfers, sendCopies } from './demo/send-transfers.ts';
import { waitUntil } from './demo/wait-until.ts';
import { findOrInstallRedis } from './embedded/redis-server.ts';
import { buildIfNeeded } from './start/build-service.ts';
import { StartError } from './start/start-error.ts';
import { listenForStop, whenAborted } from './start/stop-request.ts';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
// Four in ten: far from the beginning and from the end.
const mailsBeforeTheKill = 800;

/** Resolves with whether everything happened once; with nothing if a person ended it. */
async function demo(screen: Screen, isSabotaged: boolean, asked: AbortSignal): Promise<boolean | undefined> {
  findOrInstallRedis(screen.say);
  buildIfNeeded(root, screen.say);
  screen.step('Start Postgres, Redis, an API, a worker and a mail server, all new and on free ports');
  const sink = await startMailSink(isSabotaged);
  const installation = await startInstallation(root, sink.url);
  const leaving = new AbortController();
  try {
    const story = tell({ screen, isSabotaged, sink, installation, left: leaving.signal });
    return await Promise.race([story, installation.failed, whenAborted(asked).then(() => undefined)]);
  } finally {
    // An API that ends waits for the results of those who ask; whoever pressed Ctrl-C would wait with them.
    leaving.abort();
    await installation.stop();
    await sink.close();
  }
}

interface Stage {
  readonly screen: Screen;
  readonly isSabotaged: boolean;
  readonly sink: MailSink;
  readonly installation: Installation;
  readonly left: AbortSignal;
}

async function tell({ screen, isSabotaged, sink, installation, left }: Stage): Promise<boolean> {
  const api = openSemelApi(installation.url, installation.apiKey, left);
  const firstWorker = installation.startWorker();
  screen.say(`The API is at ${installation.url}, worker 1 is process ${firstWorker.pid}.`);

  screen.step('Open two accounts');
  const accounts = await openAccounts(api, screen);

  screen.step(`Send the same transfer ${copies} times at once`);
  await sendCopies(api, screen, accounts, isSabotaged);

  screen.step('Mail a list, and kill the worker in the middle');
  const mailing = await uploadMailing(api, screen);
  await waitForMails(sink, screen, mailsBeforeTheKill);
  await installation.kill(firstWorker);
  screen.say(`${screen.paint('red', 'kill -9')} of worker 1 after ${formatCount(sink.received.size)} mails.`);

  screen.step('Accept more work, and empty Redis while it is queued');
  await queueTransfers(api, screen, accounts, isSabotaged);
  await emptyRedis(installation.redisUrl, screen);

  screen.step('Start worker 2, which finds in Postgres what Redis has forgotten');
  const startedMs = performance.now();
  screen.say(`It is process ${installation.startWorker().pid}.`);
  await waitForMails(sink, screen, sink.received.size + 1);
  screen.say(`The mailing goes on after ${((performance.now() - startedMs) / 1_000).toFixed(1)} seconds.`);
  await waitForMailing(api, screen, sink, mailing);
  screen.say(`${formatCount(sink.received.size)} addresses have their mail.`);

  screen.step('Look at what is in doubt');
  if ((await settleDoubts(api, screen, sink, mailing)) > 0) await waitForMailing(api, screen, sink, mailing);
  await waitUntil(
    async () => (await api.ask<{ items: unknown[] }>('/v1/operations?status=QUEUED&limit=1')).items.length === 0,
    'The queued transfers never ended',
  );

  screen.step('Count from the outside: the ledger in Postgres, the mails at the mail server');
  const verdict = await countFromOutside(installation.databaseUrl, accounts, sink.received);
  console.log(renderVerdict(verdict, screen));
  return isFlawless(verdict);
}

async function emptyRedis(url: string, screen: Screen): Promise<void> {
  const redis = new Redis(url);
  const before = await redis.dbsize();
  await redis.flushall();
  screen.say(`${screen.paint('red', 'FLUSHALL')}: Redis had ${formatCount(before)} keys, now it has none.`);
  redis.disconnect();
}

// For the test alone: a demo whose table could show nothing but zeros would prove nothing. It makes one mistake of each kind.
const isSabotaged = Boolean(process.env.SEMEL_DEMO_SABOTAGE);
const stop = listenForStop();
const screen = createScreen(process.stdout, process.env);
try {
  const isGood = await demo(screen, isSabotaged, stop.asked);
  if (isGood === undefined) {
    screen.say('Stopped; everything is cleaned up.');
    // What a shell expects of something that Ctrl-C ended.
    process.exitCode = 130;
  } else {
    console.log(`\nEverything is stopped and removed. "npm start" runs Semel for you to try.`);
    if (!isGood) process.exitCode = 1;
  }
} catch (error) {
  console.error(error instanceof StartError ? error.message : error);
  process.exitCode = 1;
}
process.exit();
