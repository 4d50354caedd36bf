import { randomUUID } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import type { ErrorCode } from '../../../src/errors.ts';
import { insertWebhook } from '../../../src/store/webhooks.ts';
import type { Answer } from '../../support/api.ts';
import { mailingWith, newMailing, uploadCsv } from '../../support/mailings.ts';
import { newCustomer, newProposal } from '../../support/proposals.ts';
import { startTestService, type TestService } from '../../support/service.ts';
import { codesByRoute } from './documented-examples.ts';

/** What follows from the form of a route is provoked in problems.test.ts, on all of them. */
const usual: ErrorCode[] = [
  'INVALID_REQUEST',
  'UNAUTHENTICATED',
  'FORBIDDEN',
  'RATE_LIMITED',
  'INTERNAL',
  'UNAVAILABLE',
  'UNSUPPORTED_MEDIA_TYPE',
  'IDEMPOTENCY_KEY_INVALID',
  'IDEMPOTENCY_KEY_REQUIRED',
  'OPERATION_IN_PROGRESS',
  'OPERATION_FAILED',
  'OUTCOME_UNKNOWN',
];
/** The mailing of a key can only be missing if somebody deleted it by hand. */
const unprovoked = ['POST /v1/mailings NOT_FOUND'];

let service: TestService;
const provoked = new Set<string>();

beforeAll(async () => {
  service = await startTestService({ environment: { WAIT_SECONDS: '30', UPLOAD_MAX_BYTES: '1000' } });
});

afterAll(() => service.close());

/** Holds an answer for what it should be. That it is documented so, the client of the tests has seen by then. */
function note(route: string, code: ErrorCode, answer: Answer): void {
  expect({ route, code: answer.body?.code }, answer.text).toEqual({ route, code });
  provoked.add(`${route} ${code}`);
}

/** Refused by the route of the resource, and by the name of the operation too. */
async function refuse(
  route: string,
  operation: string,
  code: ErrorCode,
  request: Record<string, unknown>,
): Promise<void> {
  const { proposalId, ...body } = request;
  const path = route.replace('POST ', '').replace('{id}', String(proposalId));
  note(route, code, await service.api.post(path, body, { key: randomUUID() }));
  const name = `/v1/operations/${operation}`;
  note(`POST ${name}`, code, await service.api.post(name, request, { key: randomUUID() }));
}

/** The routes of the operations and of mailings. Others have their own tests. */
const watched = /^(POST|DELETE) \/v1\/(transfers|customers|proposals|webhooks|mailings|suppressions|operations\/\w+\.)/;

it('every problem that a route documents as its own can be provoked', async () => {
  await refuseTransfers();
  await refuseCustomersAndProposals();
  await refuseWebhooks();
  await refuseUploads();
  await refuseActions();
  await refuseSuppressions();
  const followsFromForm = (route: string, code: string) =>
    usual.includes(code as ErrorCode) ||
    (code === 'NOT_FOUND' && route.includes('{id}')) ||
    (['INCONSISTENT_REQUEST', 'TOO_LARGE'].includes(code) && route !== 'POST /v1/mailings');
  const own = [...codesByRoute(inject('openApi'))]
    .filter(([route]) => watched.test(route))
    .flatMap(([route, codes]) =>
      [...codes].filter((code) => !followsFromForm(route, code)).map((code) => `${route} ${code}`),
    );
  expect(own.length).toBeGreaterThan(40);
  expect(own.filter((name) => !provoked.has(name))).toEqual(unprovoked);
});

/** For each reason that a transfer can be refused for. */
async function refuseTransfers(): Promise<void> {
  const { api } = service;
  const [rich, poor] = [await api.openAccount(9_007_199_254_740_991), await api.openAccount(10)];
  const yen = await api.openAccount(10, { currency: 'JPY' });
  const transfer = (fromAccountId: string, toAccountId: string, code: ErrorCode, amount = 1) =>
    refuse('POST /v1/transfers', 'transfer.create', code, { fromAccountId, toAccountId, amount });
  await transfer(poor, poor, 'SAME_ACCOUNT');
  await transfer(poor, randomUUID(), 'ACCOUNT_NOT_FOUND');
  await transfer(poor, yen, 'CURRENCY_MISMATCH');
  await transfer(poor, rich, 'INSUFFICIENT_FUNDS', 11);
  await transfer(poor, rich, 'BALANCE_LIMIT');
}

async function refuseCustomersAndProposals(): Promise<void> {
  const email = `${randomUUID()}@example.com`;
  await service.api.post('/v1/customers', { name: 'Ada', email });
  await refuse('POST /v1/customers', 'customer.create', 'EMAIL_TAKEN', { name: 'Ada', email });
  const request = { customerId: randomUUID(), amount: 1 };
  await refuse('POST /v1/proposals', 'proposal.create', 'CUSTOMER_NOT_FOUND', request);

  const customerId = await newCustomer(service.api);
  for (const verb of ['submit', 'accept', 'reject']) {
    const [route, operation] = [`POST /v1/proposals/{id}/${verb}`, `proposal.${verb}`];
    const proposalId = await newProposal(service.api, { customerId });
    await refuse(route, operation, 'NOT_FOUND', { proposalId: randomUUID(), version: 1 });
    await refuse(route, operation, 'VERSION_CONFLICT', { proposalId, version: 9 });
    if (verb === 'submit') await service.api.post(`/v1/proposals/${proposalId}/submit`, { version: 1 });
    await refuse(route, operation, 'INVALID_STATE', { proposalId, version: verb === 'submit' ? 2 : 1 });
  }
}

async function refuseWebhooks(): Promise<void> {
  const request = { url: 'http://127.0.0.1/', events: ['transfer.completed'] };
  await refuse('POST /v1/webhooks', 'webhook.register', 'WEBHOOK_URL_REFUSED', request);
  const id = uuidv7();
  await service.db.transaction().execute((tx) => insertWebhook(tx, { id, client: 'default', ...request }));
  await service.db.updateTable('webhooks').set({ disabled_at: new Date() }).where('id', '=', id).execute();
  note('POST /v1/webhooks/{id}/test', 'INVALID_STATE', await service.api.post(`/v1/webhooks/${id}/test`, {}));
}

async function refuseUploads(): Promise<void> {
  const upload = 'POST /v1/mailings';
  const { api } = service;
  note(upload, 'CSV_INVALID', await uploadCsv(api, 'name\nAda\n'));
  note(upload, 'CSV_EMPTY', await uploadCsv(api, ''));
  note(upload, 'TOO_LARGE', await uploadCsv(api, `email\n${'a'.repeat(2_000)}\n`));
  note(upload, 'TEMPLATE_INVALID', await uploadCsv(api, 'email\na@example.com\n', { fields: { text: '{{' } }));
  const filename = 'one.csv';
  await newMailing(api, 'email\na@example.com\n', { filename });
  note(upload, 'FILENAME_REUSED', await uploadCsv(api, 'email\nb@example.com\n', { filename }));
  const key = randomUUID();
  await newMailing(api, 'email\na@example.com\n', { key });
  note(upload, 'INCONSISTENT_REQUEST', await uploadCsv(api, 'email\nb@example.com\n', { key }));
}

/** What cannot be done to a mailing any more. */
async function refuseActions(): Promise<void> {
  const { api } = service;
  const id = await newMailing(api, 'email\nc@example.com\n');
  await mailingWith(api, id, 'COMPLETED');
  for (const verb of ['pause', 'resume', 'cancel']) {
    note(`POST /v1/mailings/{id}/${verb}`, 'INVALID_STATE', await api.post(`/v1/mailings/${id}/${verb}`, {}));
  }
  const entry = `/v1/mailings/${id}/entries/2`;
  const resolution = { outcome: 'applied' };
  const route = 'POST /v1/mailings/{id}/entries/{line}';
  note(`${route}/resolve`, 'INVALID_STATE', await api.post(`${entry}/resolve`, resolution));
  note(`${route}/resend`, 'INVALID_STATE', await api.post(`${entry}/resend`, {}));

  const cancelled = await cancelEarly();
  for (const verb of ['retry-failed', 'resend-unknown', 'resolve-unknown']) {
    const answer = await api.post(`/v1/mailings/${cancelled}/${verb}`, resolution);
    note(`POST /v1/mailings/{id}/${verb}`, 'INVALID_STATE', answer);
  }
}

/** A mailing that was cancelled before its file was read. */
async function cancelEarly(): Promise<string> {
  const id = await newMailing(service.api, 'email\nd@example.com\n');
  await mailingWith(service.api, id, 'COMPLETED');
  await service.db
    .updateTable('mailings')
    .set({ status: 'CANCELLED', ingested_at: null })
    .where('id', '=', id)
    .execute();
  return id;
}

async function refuseSuppressions(): Promise<void> {
  const answer = await service.api.send('DELETE', '/v1/suppressions/nobody@example.com');
  note('DELETE /v1/suppressions/{email}', 'NOT_FOUND', answer);
}
