import { once } from 'node:events';
import { type AddressInfo, createConnection, createServer, type Socket } from 'node:net';

/** Which reply is lost: of a connection whose request matched, the first bytes that match. The request has been served. */
export interface LostReply {
  /** Left out: any request. */
  request?: RegExp;
  reply: RegExp;
  /** How many times. */
  times: number;
}

/** Patterns may lie across two chunks; none of ours is longer than this. */
const overlapBytes = 64;

/** Stands between a client and a server on this machine, and lets the network be as bad as a test wants it. */
export class TcpProxy {
  readonly #server = createServer({ noDelay: true }, (client) => this.#connect(client));
  readonly #target: number;
  readonly #links = new Set<Link>();
  #mode: 'pass' | 'refuse' | 'swallow' = 'pass';
  #delayMs = 0;
  #lostReply: LostReply | undefined;
  /** How many replies were lost by `loseReply`. */
  lostReplies = 0;

  private constructor(target: number) {
    this.#target = target;
  }

  static async open(targetPort: number): Promise<TcpProxy> {
    const proxy = new TcpProxy(targetPort);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** The same address, with the proxy in between. */
  through(url: string): string {
    const proxied = new URL(url);
    proxied.port = String(this.port);
    return proxied.href.replace(/\/$/, url.endsWith('/') ? '/' : '');
  }

  /** Ends every connection at once. Returns how many that were. */
  cut(): number {
    const count = this.#links.size;
    for (const link of [...this.#links]) link.destroy();
    return count;
  }

  /** Ends every connection, and each new one too. */
  refuse(): number {
    this.#mode = 'refuse';
    return this.cut();
  }

  /** Connections stay, and new ones come about, but nothing passes any more, in either direction. */
  blackHole(): void {
    this.#mode = 'swallow';
  }

  /** Each chunk takes this long, in order. */
  delay(delayMs: number): void {
    this.#delayMs = delayMs;
  }

  loseReply(rule: LostReply): void {
    this.#lostReply = rule;
  }

  /** Back to normal. What was swallowed is lost, so its connections end, as behind a firewall that forgot them. */
  heal(): void {
    const hadHole = this.#mode === 'swallow';
    this.#mode = 'pass';
    this.#delayMs = 0;
    this.#lostReply = undefined;
    if (hadHole) this.cut();
  }

  async close(): Promise<void> {
    this.#server.close();
    this.cut();
    await once(this.#server, 'close');
  }

  #connect(client: Socket): void {
    if (this.#mode === 'refuse') return void client.resetAndDestroy();
    const link = new Link(client, createConnection({ port: this.#target, host: '127.0.0.1', noDelay: true }));
    this.#links.add(link);
    link.onClose = () => this.#links.delete(link);
    link.onRequest = (chunk) => {
      if (this.#mode === 'swallow') return;
      link.sawRequest(chunk, this.#lostReply);
      link.toServer.push(chunk, this.#delayMs);
    };
    link.onReply = (chunk) => {
      if (this.#mode === 'swallow') return;
      if (this.#isLost(link, chunk)) return link.destroy();
      link.toClient.push(chunk, this.#delayMs);
    };
  }

  #isLost(link: Link, chunk: Buffer): boolean {
    const rule = this.#lostReply;
    if (!rule || rule.times <= 0 || !link.isReplyTo(rule, chunk)) return false;
    rule.times -= 1;
    this.lostReplies += 1;
    return true;
  }
}

/** One connection through the proxy. */
class Link {
  readonly toServer: Pipe;
  readonly toClient: Pipe;
  onRequest: (chunk: Buffer) => void = () => undefined;
  onReply: (chunk: Buffer) => void = () => undefined;
  onClose: () => void = () => undefined;
  #isArmed = false;
  #requestTail = '';
  #replyTail = '';

  constructor(client: Socket, server: Socket) {
    client.setNoDelay(true);
    this.toServer = new Pipe(server);
    this.toClient = new Pipe(client);
    client.on('data', (chunk: Buffer) => this.onRequest(chunk));
    server.on('data', (chunk: Buffer) => this.onReply(chunk));
    client.on('end', () => this.toServer.end());
    server.on('end', () => this.toClient.end());
    for (const socket of [client, server]) {
      socket.on('error', () => this.destroy());
      socket.on('close', () => this.onClose());
    }
  }

  sawRequest(chunk: Buffer, rule: LostReply | undefined): void {
    const text = this.#requestTail + chunk.toString('latin1');
    this.#isArmed = rule?.request?.test(text) ?? false;
    this.#requestTail = text.slice(-overlapBytes);
  }

  isReplyTo(rule: LostReply, chunk: Buffer): boolean {
    const text = this.#replyTail + chunk.toString('latin1');
    this.#replyTail = text.slice(-overlapBytes);
    return (this.#isArmed || rule.request === undefined) && rule.reply.test(text);
  }

  destroy(): void {
    this.toServer.destroy();
    this.toClient.destroy();
  }
}

/** One direction. Keeps the order, also when the delay changes on the way. */
class Pipe {
  readonly #socket: Socket;
  #dueMs = 0;
  #waiting = 0;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  push(chunk: Buffer, delayMs: number): void {
    this.#after(delayMs, () => this.#socket.write(chunk));
  }

  end(): void {
    this.#after(0, () => this.#socket.end());
  }

  destroy(): void {
    // A reset and no polite end: what was on its way is lost, and both sides notice at once.
    this.#socket.resetAndDestroy();
  }

  #after(delayMs: number, act: () => void): void {
    if (delayMs === 0 && this.#waiting === 0) {
      act();
      return;
    }
    this.#dueMs = Math.max(this.#dueMs, Date.now() + delayMs);
    this.#waiting += 1;
    setTimeout(() => {
      this.#waiting -= 1;
      if (!this.#socket.destroyed) act();
    }, this.#dueMs - Date.now());
  }
}
