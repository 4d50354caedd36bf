import { openSmtpTransport } from '../../../src/store/mail/smtp-transport.ts';

/** Sends one mail and does nothing more, not even close the transport. */
const [url = ''] = process.argv.slice(2);
const transport = openSmtpTransport(url, { timeoutMs: 10_000 });
const message = { from: 'semel@example.com', to: 'ops@example.com', subject: 'One', messageId: '<one.1@example.com>' };
await transport.send({ ...message, text: 'text' });
