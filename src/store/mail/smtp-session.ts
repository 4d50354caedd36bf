import type { Socket } from 'node:net';
import { Readable, type Writable } from 'node:stream';
import SMTPConnection from 'nodemailer/lib/smtp-connection';
import type { ComposedMail } from './compose-mail.ts';

export interface SmtpSessionOptions extends SMTPConnection.Options {
  auth?: { user?: string | undefined; pass?: string | undefined } | undefined;
  timeoutMs: number;
  /** Called when the server waits for the content of a mail. */
  onData?: (() => void) | undefined;
}

/** Long enough for a goodbye over any line. It holds up whoever waits for the connection's place. */
const goodbyeTimeoutMs = 1_000;

/** One connection to a mail server: connected and logged in once, then any number of mails, one after the other. */
export class SmtpSession {
  /** Of the last mail: from here on, a lost connection leaves no way to know whether the server took it. */
  hasBegunData = false;
  /** The mails that were begun, taken or not. */
  mailCount = 0;
  readonly #connection: SMTPConnection;
  readonly #auth: SmtpSessionOptions['auth'];
  readonly #onData: SmtpSessionOptions['onData'];
  #hasWrittenData = false;
  #fail: (error: Error) => void = () => undefined;

  constructor({ auth, timeoutMs, onData, ...options }: SmtpSessionOptions) {
    this.#auth = auth;
    this.#onData = onData;
    // Each conversation has a deadline of its own. These only catch what it does not watch, and must not come first.
    const [connectionTimeout, greetingTimeout, socketTimeout] = [2 * timeoutMs, 2 * timeoutMs, 2 * timeoutMs];
    this.#connection = new SMTPConnection({ ...options, connectionTimeout, greetingTimeout, socketTimeout });
    // They stay for the connection's life: an error between two mails would otherwise end the process.
    this.#connection.on('error', (error: Error) => this.#fail(error));
    // The end may come before the error that explains it, in the same turn of the event loop.
    this.#connection.on('end', () => setImmediate(() => this.#fail(new Error('the connection was closed'))));
  }

  async connect(): Promise<void> {
    await this.#ask((done) => this.#connection.connect(done));
    // Credentials that the server has no use for must not pass for a login.
    if (this.#auth) await this.#ask((done) => this.#connection.login({ ...this.#auth }, done));
  }

  /** The server's last reply, which says that it took the mail. */
  async send({ envelope, content }: ComposedMail): Promise<string> {
    let response = '';
    this.mailCount += 1;
    this.hasBegunData = false;
    this.#connection.lastServerResponse = false;
    this.#hasWrittenData = false;
    await this.#ask((done) =>
      // A copy, because the connection keeps its notes in the envelope.
      this.#connection.send({ ...envelope }, this.#offer(content), (error, info) => {
        if (!error) response = info.response;
        done(error);
      }),
    );
    return response;
  }

  async reset(): Promise<void> {
    await this.#ask((done) => this.#connection.reset(done));
  }

  /** Whether the server has said nothing at all since the last mail was begun, so that it cannot have any of it. */
  get isUnheard(): boolean {
    return !this.hasBegunData && this.#connection.lastServerResponse === false;
  }

  /** Not so if a server answered before it had the whole mail: what is left of it would be read as commands. */
  get canGoOn(): boolean {
    const socket = this.#socket;
    const isWritten = !this.hasBegunData || (this.#hasWrittenData && socket?.writableLength === 0);
    return !this.#connection.destroyed && socket?.writable === true && isWritten;
  }

  /** While idle, the connection does not keep the process alive. */
  rest(): void {
    this.#socket?.unref();
  }

  wake(): void {
    this.#socket?.ref();
  }

  /** Takes leave, and waits until the server no longer counts this connection. */
  async end(): Promise<void> {
    const socket = this.#socket;
    if (!socket || socket.destroyed || this.#connection.destroyed) return this.cut();
    socket.ref();
    const timer = setTimeout(() => socket.destroy(), goodbyeTimeoutMs);
    await new Promise<void>((resolve) => {
      socket.once('close', () => resolve());
      this.#connection.quit();
    });
    clearTimeout(timer);
  }

  /** Without a goodbye, and without writing what is still to be written. */
  cut(): void {
    const socket = this.#socket;
    this.#connection.close();
    socket?.destroy();
  }

  get #socket(): Socket | undefined {
    return this.#connection._socket || undefined;
  }

  async #ask(begin: (done: (error?: Error | null) => void) => void): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#fail = reject;
      begin((error) => (error ? reject(error) : resolve()));
    });
  }

  /** The connection asks for the mail once the server has said 354 to DATA, and not before. */
  #offer(content: Buffer): Readable {
    return new OfferedMail((destination) => {
      this.hasBegunData = true;
      this.#onData?.();
      const socket = this.#socket;
      // A small mail leaves in one piece with the dot that ends it. A larger one needs the socket to drain meanwhile;
      // escaping its dots makes it larger by a third at most.
      const isSmall = socket && 2 * content.length + socket.writableLength < socket.writableHighWaterMark;
      if (isSmall) socket.cork();
      destination.once('end', () => {
        this.#hasWrittenData = true;
        if (isSmall) socket.uncork();
      });
      destination.end(content);
    });
  }
}

/** A stream that hands over everything at once. A real one would cost more than all the commands before it. */
class OfferedMail extends Readable {
  readonly #handOver: (destination: Writable) => void;

  constructor(handOver: (destination: Writable) => void) {
    super();
    this.#handOver = handOver;
  }

  override pipe<T extends NodeJS.WritableStream>(destination: T): T {
    this.#handOver(destination as T & Writable);
    return destination;
  }
}
