import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { sql } from 'kysely';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createMetrics } from '../../../src/metrics.ts';
import { InHand } from '../../../src/processors/mailings/in-hand.ts';
import { createMailLinks } from '../../../src/processors/mailings/links.ts';
import { sendBatch } from '../../../src/processors/mailings/send-batch.ts';
import { MailError } from '../../../src/store/mail/mail-error.ts';
import type { MailTransport } from '../../../src/store/mail/mail-transport.ts';
import { eventually } from '../../support/eventually.ts';
import { csvOf, mailingWith, newMailing } from '../../support/mailings.ts';
import { startTestService, type TestService } from '../../support/service.ts';

let service: TestService;
let provider: Server;
/** The keys of all requests, and the mails that the provider has taken: one for each key. */
const asked: string[] = [];
const taken = new Map<string, string>();

beforeAll(async () => {
  provider = createServer(async (request, response) => {
    const key = String(request.headers['idempotency-key']);
    asked.push(key);
    const isNew = !taken.has(key);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    if (isNew) taken.set(key, (JSON.parse(Buffer.concat(chunks).toString()) as { to: string }).to);
    // The first answer of each gets lost on its way.
    if (isNew) request.socket.destroy();
    else response.end(JSON.stringify({ id: `provider-${taken.size}` }));
  });
  await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve));
  // Its own mail server does not exist: the entries are there, and nobody has sent any.
  service = await startTestService({ environment: { MAIL_URL: 'smtp://127.0.0.1:1' } });
});

afterAll(async () => {
  await service.close();
  provider.closeAllConnections();
  provider.close();
});

/** All that a provider with an idempotency key needs: the Message-ID is the same in every attempt. */
function openProviderTransport(url: string): MailTransport {
  return {
    maxInHand: 4,
    send: async ({ messageId, ...message }) => {
      const body = JSON.stringify(message);
      const headers = { 'content-type': 'application/json', 'idempotency-key': messageId };
      const answer = await fetch(url, { method: 'POST', headers, body }).catch(() => {
        throw new MailError('unknown', 'the provider did not answer');
      });
      if (!answer.ok) throw new MailError('not_sent', `the provider answered ${answer.status}`, answer.status, 'data');
      return { externalId: ((await answer.json()) as { id: string }).id };
    },
    close: async () => undefined,
  };
}

it('a provider that takes an idempotency key is one more transport, and with it at-least-once means once', async () => {
  const mailingId = await newMailing(service.api, csvOf(3), { fields: { ratePerSecond: '1' } });
  await mailingWith(service.api, mailingId, 'SENDING');
  await takeFromWorker(mailingId);
  const transport = openProviderTransport(`http://127.0.0.1:${(provider.address() as AddressInfo).port}/mails`);
  const parts = {
    db: service.db,
    transport,
    links: createMailLinks('http://mail.example', () => Buffer.alloc(32)),
    policy: { retryDelaysMs: [0, 0], resendsDoubtful: true },
    inHand: new InHand(2 * transport.maxInHand),
    metrics: createMetrics({ operations: [], servesApi: false, runsJobs: true }),
    actor: 'test',
    log: pino({ level: 'silent' }),
    hitFailpoint: () => undefined,
    stopping: new AbortController().signal,
  };
  const job = { mailingId, batch: 1, outboxId: '00000000-0000-7000-8000-000000000000' };
  for (let result = await sendBatch(parts, job); result.kind === 'later'; result = await sendBatch(parts, job));
  expect((await mailingWith(service.api, mailingId, 'COMPLETED')).totals).toMatchObject({ sent: 3, unknown: 0 });
  expect([...taken.values()].toSorted()).toEqual(['user1@example.com', 'user2@example.com', 'user3@example.com']);
  const expected = [2, 3, 4].map((line) => `<${mailingId}.${line}@localhost>`);
  expect(asked.toSorted()).toEqual([...expected, ...expected].toSorted());
});

/** The service lets go of a paused mailing. It goes on without the service being told. */
async function takeFromWorker(mailingId: string): Promise<void> {
  await service.api.post(`/v1/mailings/${mailingId}/pause`, {});
  await eventually(async () => {
    const { rows } = await sql<{ is_queued: boolean }>`
      select is_queued from mailing_batches where mailing_id = ${mailingId}::uuid`.execute(service.db);
    expect(rows).toEqual([{ is_queued: false }]);
  });
  await sql`update mailing_entries set next_attempt_at = null where mailing_id = ${mailingId}::uuid`.execute(
    service.db,
  );
  await sql`
    update mailings set status = 'SENDING', rate_per_second = null, throttle_level = 0, throttled_until = null
    where id = ${mailingId}::uuid`.execute(service.db);
}
