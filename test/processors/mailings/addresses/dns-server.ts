import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { type Answer, decode, encode, type RecordType } from 'dns-packet';

const codes = { NOERROR: 0, SERVFAIL: 2, NXDOMAIN: 3, REFUSED: 5 } as const;

export interface Reply {
  code?: keyof typeof codes;
  answers?: Answer[];
}

export interface DnsServer {
  /** As a resolver wants it. */
  address: string;
  /** What was asked, as `MX example.com`, in order. */
  questions: string[];
  close: () => Promise<void>;
}

/** A name server on loopback. A question whose reply is undefined is left without one. */
export async function startDnsServer(
  reply: (type: RecordType, name: string) => Reply | undefined | Promise<Reply | undefined>,
): Promise<DnsServer> {
  const socket = createSocket('udp4');
  const questions: string[] = [];
  socket.on('message', async (message, { port, address }) => {
    const query = decode(message);
    const [question] = query.questions ?? [];
    if (question === undefined) return;
    // Resolvers vary the case of names to make replies hard to forge, and want it back.
    const name = question.name.toLowerCase();
    questions.push(`${question.type} ${name}`);
    const answer = await reply(question.type, name);
    if (answer === undefined) return;
    const { id, questions: asked = [] } = query;
    const flags = codes[answer.code ?? 'NOERROR'];
    socket.send(
      encode({ type: 'response', id: id ?? 0, flags, questions: asked, answers: answer.answers ?? [] }),
      port,
      address,
    );
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    address: `127.0.0.1:${socket.address().port}`,
    questions,
    close: async () => {
      socket.close();
      await once(socket, 'close');
    },
  };
}
