import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { testApiKey } from '../../support/api.ts';
import { startTestService, type TestService } from '../../support/service.ts';
import { readText } from '../../support/sources.ts';
import { plantTroubles } from '../openapi/plant-troubles.ts';

let service: TestService;

beforeAll(async () => {
  service = await startTestService();
  await plantTroubles(service.db);
});

afterAll(() => service.close());

const page = readText('docs/admin-api.md');
const blocks = [...page.matchAll(/```sh\n(.*?)```/gs)].map(([, block = '']) => block);
const commands = blocks.flatMap((block) => block.replaceAll('\\\n', ' ').split('\n')).filter((line) => line !== '');

/** Which id the reader would put in. */
async function idFor(command: string): Promise<string> {
  const idsOf = async (path: string) => (await service.api.get(path)).body.items.map((item: { id: string }) => item.id);
  if (command.includes('/resolve')) return (await idsOf('/v1/admin/idempotency/records/unknown'))[0];
  if (command.includes('/reset')) return (await service.api.get('/v1/admin/dead-letters')).body.items[0].operationId;
  if (command.includes('DELETE') && command.includes('dead-letters')) return (await idsOf('/v1/admin/dead-letters'))[0];
  if (command.includes('/acknowledge')) return (await idsOf('/v1/admin/invariants/faults'))[0];
  return (await idsOf('/v1/admin/api-keys'))[0];
}

it('each command of the page works as it stands', async () => {
  const [setup, ...calls] = commands;
  expect(setup).toMatch(/^export /);
  expect(calls.length).toBeGreaterThan(10);
  // A discard needs a dead letter that the retry before it does not take.
  const inOrder = calls.toSorted((a, b) => Number(isRetryOfAll(a)) - Number(isRetryOfAll(b)));
  for (const call of inOrder) {
    const id = call.includes('$ID') ? await idFor(call) : '';
    const local = setup?.replace(/http:\/\/\S+/, service.api.url);
    // The answer, and after it the status.
    const script = `${local}\ncurl() { command curl -w '\\n%{http_code}' "$@"; }\nID=${id}\n${call}`;
    const environment = { PATH: process.env.PATH, SEMEL_API_KEY: testApiKey };
    const { stdout } = await promisify(execFile)('bash', ['-c', script], { env: environment });
    expect(stdout.split('\n').at(-1), `${call}\n${stdout}`).toMatch(/^20\d$/);
  }
});

const isRetryOfAll = (call: string): boolean => call.includes('/retry') && !call.includes('dryRun');
