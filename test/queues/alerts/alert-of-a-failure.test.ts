import { randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { defineOperation, printableKey } from '../../../src/processors/define-operation.ts';
import { parseMail } from '../../store/mail/parse-mail.ts';
import { eventually } from '../../support/eventually.ts';
import { startTestService, type TestService } from '../../support/service.ts';

let service: TestService;

const failing = defineOperation({
  name: 'test.failing',
  request: z.strictObject({}),
  key: { required: true, pattern: printableKey },
  onMismatch: 'reject',
  replay: 'stored',
  process: async () => {
    throw new Error('secret detail of the inside');
  },
});

beforeAll(async () => {
  const environment = { ALERT_MAIL_TO: 'operator@example.com', RETRY_DELAYS_MS: 'none' };
  service = await startTestService({ environment, operations: [failing] });
});

afterAll(() => service.close());

it('operations that fail for good at about the same time reach the operator in one mail', async () => {
  const send = () => service.api.post('/v1/operations/test.failing', {}, { key: randomUUID() });
  const answers = await Promise.all(Array.from({ length: 10 }, send));
  const folder = join(service.environment.SEMEL_DATA_DIR ?? '', 'mail');
  const mail = await eventually(
    async () => {
      const [file = ''] = (await readdir(folder)).filter((name) => name.endsWith('.eml'));
      return parseMail(await readFile(join(folder, file)));
    },
    // Gathered for five seconds, and looked for every five.
    { timeoutMs: 30_000 },
  );
  expect(mail.headers.get('to')).toBe('operator@example.com');
  expect(mail.headers.get('subject')).toBe('10 operations failed');
  for (const answer of answers) expect(mail.text).toContain(answer.body.operationId);
  expect(mail.text).not.toContain('secret');
});
