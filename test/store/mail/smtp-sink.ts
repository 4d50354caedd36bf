import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { SMTPServer, type SMTPServerOptions, type SMTPServerSession } from 'smtp-server';
import { parseMail, type ReceivedMail } from './parse-mail.ts';

type Step = 'connect' | 'mail' | 'rcpt' | 'data';
/** A reply code, or a connection that is cut without any. */
export type Refusal = { at: Step; code: number } | { at: Step; cut: true };

export interface SmtpSink {
  url: string;
  port: number;
  /** What was taken, in order. */
  mails: ReceivedMail[];
  /** What the next conversations meet, one each. Afterwards all is well again. */
  refusals: Refusal[];
  /** Called with a whole mail before it is acknowledged. */
  beforeReply: (mail: ReceivedMail) => Promise<void> | void;
  close: () => Promise<void>;
}

/** A mail server on loopback that takes everything, unless it is told otherwise. */
export async function startSmtpSink(options: { port?: number; more?: SMTPServerOptions } = {}): Promise<SmtpSink> {
  const meet = (at: Step, session: SMTPServerSession, done: (error?: Error) => void) => {
    const [next] = sink.refusals;
    if (next?.at !== at) return done();
    sink.refusals.shift();
    if ('cut' in next) return cutConnection(server, session);
    done(Object.assign(new Error(`refused for test@example.com at ${at}`), { responseCode: next.code }));
  };
  const server = new SMTPServer({
    disabledCommands: ['AUTH', 'STARTTLS'],
    disableReverseLookup: true,
    logger: false,
    // A test that ends does not wait for those who are still connected.
    closeTimeout: 1,
    onConnect: (session, done) => meet('connect', session, done),
    onMailFrom: (_address, session, done) => meet('mail', session, done),
    onRcptTo: (_address, session, done) => meet('rcpt', session, done),
    onData: (stream, session, done) => {
      const take = async () => {
        const mail = parseMail(
          await buffer(stream),
          session.envelope.rcptTo.map(({ address }) => address),
        );
        await sink.beforeReply(mail);
        meet('data', session, (error) => {
          if (error) return done(error);
          sink.mails.push(mail);
          done(null, `queued as ${sink.mails.length}`);
        });
      };
      take().catch(done);
    },
    ...options.more,
  });
  server.on('error', () => undefined);
  await once(server.listen(options.port ?? 0, '127.0.0.1'), 'listening');
  const { port: taken } = server.server.address() as AddressInfo;
  const sink: SmtpSink = {
    url: `smtp://127.0.0.1:${taken}`,
    port: taken,
    mails: [],
    refusals: [],
    beforeReply: () => undefined,
    close: () => new Promise<void>((resolve) => server.close(resolve)),
  };
  return sink;
}

function cutConnection(server: SMTPServer, session: SMTPServerSession): void {
  for (const connection of server.connections) if (connection.session.id === session.id) connection._socket.destroy();
}
