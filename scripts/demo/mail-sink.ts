import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';

export interface MailSink {
  readonly url: string;
  /** How many whole mails each address got. */
  readonly received: ReadonlyMap<string, number>;
  close(): Promise<void>;
}

/** A mail server on this machine that delivers nothing and counts, knowing nothing of what Semel believes. */
export async function startMailSink(isSabotaged: boolean): Promise<MailSink> {
  const received = new Map<string, number>();
  let mails = 0;
  const server = new SMTPServer({
    disabledCommands: ['AUTH', 'STARTTLS'],
    disableReverseLookup: true,
    logger: false,
    // Its clients are ended first; one that was killed never says goodbye.
    closeTimeout: 1,
    onData: (stream, session, done) => {
      stream.resume().once('end', () => {
        mails += 1;
        const times = isSabotaged ? miscount(mails) : 1;
        for (const { address } of times === 0 ? [] : session.envelope.rcptTo) {
          received.set(address, (received.get(address) ?? 0) + times);
        }
        done(null, 'taken');
      });
    },
  });
  // A worker that is killed leaves broken connections, which is what it is killed for.
  server.on('error', () => {});
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.server.address() as AddressInfo;
  return {
    url: `smtp://127.0.0.1:${port}?ignoreTLS=true`,
    received,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

/** Late enough that the worker is killed by then and none of them is in doubt. */
function miscount(mails: number): number {
  if (mails === 1_500) return 2;
  return mails === 1_501 ? 0 : 1;
}
