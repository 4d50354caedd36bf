import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';

/** What a conversation meets instead of a friendly reply. */
export type Mood = 'take' | 'drop-after-data' | 'hang-at-rcpt' | 'hang-at-data' | { code: number; at: 'rcpt' | 'data' };

export interface CountingSink {
  url: string;
  /** How often each Message-ID was taken, that is: how often its whole mail arrived. */
  taken: Map<string, number>;
  /** Decides how a recipient is met, with how often that address was met before. */
  moodFor: (address: string, timesMet: number) => Mood;
  close: () => Promise<void>;
}

/** A mail server that only counts, fast enough for tens of thousands. A mail counts when all of it is there. */
export async function startCountingSink(): Promise<CountingSink> {
  const met = new Map<string, number>();
  const moods = new Map<string, Mood>();
  const server = new SMTPServer({
    disabledCommands: ['AUTH', 'STARTTLS'],
    disableReverseLookup: true,
    logger: false,
    closeTimeout: 1,
    onRcptTo: ({ address }, session, done) => {
      const times = met.get(address) ?? 0;
      met.set(address, times + 1);
      const mood = sink.moodFor(address, times);
      moods.set(session.id, mood);
      if (mood === 'hang-at-rcpt') return;
      if (typeof mood === 'object' && mood.at === 'rcpt') return done(refusal(mood.code));
      done();
    },
    onData: (stream, session, done) => {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const mood = moods.get(session.id) ?? 'take';
        if (typeof mood === 'object') return done(refusal(mood.code));
        // The mail was not taken: a server that hangs before its answer has promised nothing.
        if (mood === 'hang-at-data') return;
        const [, id = ''] = /^message-id: *(<[^>]+>)/im.exec(Buffer.concat(chunks).toString('latin1')) ?? [];
        sink.taken.set(id, (sink.taken.get(id) ?? 0) + 1);
        if (mood === 'take') return done(null, 'taken');
        for (const connection of server.connections) {
          if (connection.session.id === session.id) connection._socket.destroy();
        }
      });
    },
  });
  server.on('error', () => undefined);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.server.address() as AddressInfo;
  const sink: CountingSink = {
    url: `smtp://127.0.0.1:${port}`,
    taken: new Map(),
    moodFor: () => 'take',
    close: () => new Promise<void>((resolve) => server.close(resolve)),
  };
  return sink;
}

function refusal(code: number): Error {
  return Object.assign(new Error('not now'), { responseCode: code });
}
