import { randomBytes, randomUUID } from 'node:crypto';
import { createTransport, type SendMailOptions } from 'nodemailer';
import { answerQuestions } from '../mailings/ask-process.ts';
import { fillIn, mailTexts } from '../mailings/mail-texts.ts';
import { makePeople } from '../mailings/people.ts';
import type { PoolPlan, Timed } from '../mailings/protocol.ts';

// What sending costs by itself: the finished messages, handed to nodemailer's pool. Nothing is remembered of them.

// Always some in line for each connection, and not all of them at once, which made it slower.
const windowPerConnection = 10;

answerQuestions<PoolPlan, Timed>(async ({ mailUrl, prefix, mails, connections }) => {
  const { hostname: host, port } = new URL(mailUrl);
  const transport = createTransport({ pool: true, host, port: Number(port), maxConnections: connections });
  const messages = prepareMessages(prefix, mails);
  const startedMs = performance.now();
  const next = messages.values();
  const send = async (): Promise<void> => {
    for (const message of next) await transport.sendMail(message);
  };
  await Promise.all(Array.from({ length: connections * windowPerConnection }, send));
  const tookMs = performance.now() - startedMs;
  transport.close();
  return { count: messages.length, tookMs };
});

function prepareMessages(prefix: string, mails: number): SendMailOptions[] {
  const mailingId = randomUUID();
  return [...makePeople(prefix, mails)].map(({ email, name, city }, index) => {
    const token = randomBytes(16).toString('base64url');
    const verifyUrl = `http://127.0.0.1:8080/v/${token}`;
    const unsubscribeUrl = `http://127.0.0.1:8080/u/${token}.${randomBytes(16).toString('base64url')}`;
    const values = { name, city, verifyUrl, unsubscribeUrl };
    return {
      from: { name: 'Semel', address: 'no-reply@localhost' },
      to: { name: '', address: email },
      subject: fillIn(mailTexts.subject, values),
      text: fillIn(mailTexts.text, values),
      messageId: `<${mailingId}.${index + 2}@localhost>`,
      headers: {
        'List-Unsubscribe': { prepared: true, value: `<${unsubscribeUrl}>` },
        'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
        Precedence: 'bulk',
      },
    };
  });
}
