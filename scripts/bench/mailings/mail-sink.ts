import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';
import { answerQuestions } from './ask-process.ts';
import type { SinkCount, SinkQuestion } from './protocol.ts';

// Takes every mail and counts the Message-IDs. A process of its own, and lean, because it shares the cores.

const seen = new Set<string>();
let mails = 0;

const server = new SMTPServer({
  disabledCommands: ['AUTH', 'STARTTLS'],
  disableReverseLookup: true,
  logger: false,
  onData: (stream, _session, done) => {
    let text = '';
    stream.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
    });
    stream.once('end', () => {
      mails += 1;
      seen.add(/^message-id: *(<[^>]+>)/im.exec(text)?.[1] ?? '');
      done(null, 'taken');
    });
  },
});
// A client that ends with its connections open is no reason to end.
server.on('error', () => {});
await once(server.listen(0, '127.0.0.1'), 'listening');
const { port } = server.server.address() as AddressInfo;

answerQuestions<SinkQuestion, SinkCount>(({ ask }) => {
  if (ask === 'forget') {
    seen.clear();
    mails = 0;
  }
  return { port, mails, ids: seen.size };
});
