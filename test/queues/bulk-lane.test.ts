import { randomUUID } from 'node:crypto';
import { afterEach, expect, it } from 'vitest';
import { z } from 'zod';
import { defineOperation, printableKey } from '../../src/processors/define-operation.ts';
import { succeeded } from '../../src/processors/outcomes.ts';
import { sendBulk, toLines } from '../support/bulk-stream.ts';
import { eventually } from '../support/eventually.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
afterEach(() => service.close());

const base = { key: { required: true, pattern: printableKey }, onMismatch: 'reject', replay: 'stored' } as const;

it('a line that Postgres refuses does not take those beside it along', async () => {
  // NUL gets past the check of texts here, and Postgres keeps none in jsonb.
  const operation = defineOperation({
    ...base,
    name: 'test.nul',
    request: z.object({ nul: z.boolean() }).transform(({ nul }) => ({ text: nul ? '\0' : 'fine' })),
    process: async () => succeeded(200, {}),
  });
  service = await startTestService({ operations: [operation] });
  const lines = [false, false, true, false].map((nul) => ({
    operation: 'test.nul',
    key: randomUUID(),
    request: { nul },
  }));
  const answers = await sendBulk(service.api.url, toLines(lines));
  expect(answers.map(({ created, code }) => created ?? code)).toEqual([true, true, 'INTERNAL', true]);
});

it('a failed operation runs again when its line is sent again', async () => {
  let isBroken = true;
  const operation = defineOperation({
    ...base,
    name: 'test.fragile',
    request: z.strictObject({}),
    retryDelaysMs: [],
    process: async () => {
      if (isBroken) throw new Error('broken');
      return succeeded(200, {});
    },
  });
  service = await startTestService({ operations: [operation] });
  const line = toLines([{ operation: 'test.fragile', key: randomUUID(), request: {} }]);
  const send = async () => (await sendBulk(service.api.url, line))[0];
  const { operationId } = await send();
  const statusIs = (status: string) =>
    eventually(async () => expect((await service.api.get(`/v1/operations/${operationId}`)).body.status).toBe(status));
  await statusIs('FAILED');
  isBroken = false;
  expect(await send()).toMatchObject({ operationId, status: 'QUEUED', created: true });
  await statusIs('SUCCEEDED');
  expect(await send()).toMatchObject({ operationId, status: 'SUCCEEDED', created: false });
});
