import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';

export type Step = 'greet' | 'ehlo' | 'auth' | 'mail' | 'rcpt' | 'data' | 'content' | 'rset' | 'quit';
/** A reply, `cut` for a connection that ends without one, `hang` for silence; nothing for the usual reply. */
export type Answer = string | 'cut' | 'hang' | undefined;

export interface ScriptedConnection {
  number: number;
  socket: Socket;
  /** All that was asked, in order. */
  steps: Step[];
  isRefused: boolean;
}

export interface ScriptedSmtpServer {
  url: string;
  connections: ScriptedConnection[];
  /** The Message-IDs of what was taken, in order, and of all that was seen whole, taken or not. */
  taken: string[];
  seen: string[];
  /** How many connections were open at once at most. */
  maxOpen: number;
  answer: (step: Step, connection: ScriptedConnection) => Answer | Promise<Answer>;
  close: () => Promise<void>;
}

const usual: Record<Exclude<Step, 'ehlo'>, string> = {
  greet: '220 ready',
  auth: '235 welcome',
  mail: '250 ok',
  rcpt: '250 ok',
  data: '354 go on',
  content: '250 2.0.0 queued',
  rset: '250 forgotten',
  quit: '221 bye',
};

/** A mail server that does, step by step, what decent ones never do. */
export async function startScriptedSmtpServer({ pipelining = true } = {}): Promise<ScriptedSmtpServer> {
  const extensions = ['250-scripted', ...(pipelining ? ['250-PIPELINING'] : []), '250-AUTH PLAIN', '250 8BITMIME'];
  const open = new Set<ScriptedConnection>();
  const net = createServer({ noDelay: true }, (socket) => {
    const connection: ScriptedConnection = {
      number: script.connections.length + 1,
      socket,
      steps: [],
      isRefused: false,
    };
    script.connections.push(connection);
    open.add(connection);
    script.maxOpen = Math.max(script.maxOpen, open.size);
    // From the moment it is known here that the other side has left.
    for (const event of ['end', 'close'] as const) socket.on(event, () => open.delete(connection));
    socket.on('error', () => undefined);
    // One step after the other, also while an answer is held back. It goes on reading when it has nothing more to say.
    let received = '';
    // A long mail is not searched anew with every piece of it.
    let searchedLength = 0;
    let work = reply('greet', connection);
    socket.setEncoding('latin1').on('data', (chunk) => {
      received += chunk;
      work = work.then(async (last) => {
        let answer = last;
        for (let isContent = answer?.startsWith('354'); answer !== undefined; isContent = answer?.startsWith('354')) {
          const terminator = isContent ? '\r\n.\r\n' : '\r\n';
          const end = received.indexOf(terminator, searchedLength - terminator.length);
          searchedLength = end < 0 ? received.length : 0;
          if (end < 0) break;
          const asked = received.slice(0, end);
          received = received.slice(end + terminator.length);
          answer = await (isContent ? takeContent(asked, connection) : reply(readStep(asked), connection));
        }
        return answer;
      });
    });
  });

  async function takeContent(content: string, connection: ScriptedConnection): Promise<string | undefined> {
    const messageId = /^Message-ID: (\S+)/im.exec(content)?.[1] ?? '';
    script.seen.push(messageId);
    const answer = await reply('content', connection);
    if (answer?.startsWith('2')) script.taken.push(messageId);
    return answer;
  }

  /** What was said, or nothing once nothing more will be. */
  async function reply(step: Step, connection: ScriptedConnection): Promise<string | undefined> {
    const { socket, steps } = connection;
    steps.push(step);
    const isOutOfOrder = (step === 'rcpt' || step === 'data') && connection.isRefused;
    const usually = step === 'ehlo' ? extensions.join('\r\n') : isOutOfOrder ? '503 out of order' : usual[step];
    const answer = (await script.answer(step, connection)) ?? usually;
    // What a client sends along before it knows better must not be taken.
    connection.isRefused = /^[45]/.test(answer) && (step === 'mail' || step === 'rcpt' || isOutOfOrder);
    if (answer === 'hang') return undefined;
    if (answer === 'cut') {
      open.delete(connection);
      socket.destroy();
      return undefined;
    }
    const isLast = step === 'quit' || answer.startsWith('421');
    if (isLast) open.delete(connection);
    if (isLast) socket.end(`${answer}\r\n`);
    else socket.write(`${answer}\r\n`);
    return isLast ? undefined : answer;
  }

  await once(net.listen(0, '127.0.0.1'), 'listening');
  const script: ScriptedSmtpServer = {
    url: `smtp://127.0.0.1:${(net.address() as AddressInfo).port}`,
    connections: [],
    taken: [],
    seen: [],
    maxOpen: 0,
    answer: () => undefined,
    close: async () => {
      for (const { socket } of script.connections) socket.destroy();
      await new Promise((resolve) => net.close(resolve));
    },
  };
  return script;
}

function readStep(command: string): Step {
  const verb = command.slice(0, 4).toLowerCase();
  const known = (['ehlo', 'auth', 'mail', 'rcpt', 'data', 'rset', 'quit'] as const).find((step) => step === verb);
  if (!known) throw new Error(`not a command: ${command}`);
  return known;
}
