import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { testApiKey } from '../support/api.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { root } from '../support/sources.ts';

const run = promisify(execFile);
/** As somebody writes it who has installed the package. */
const program = `
import { SemelClient, SemelError } from 'semel/client';

const semel = new SemelClient({ url: process.env.SEMEL_URL ?? '', apiKey: process.env.SEMEL_API_KEY ?? '' });
const from = await semel.accounts.open({ owner: 'Ada', currency: 'EUR', openingBalance: 5 });
const to = await semel.accounts.open({ owner: 'Grace', currency: 'EUR' });
const request = { fromAccountId: from.id, toAccountId: to.id, amount: 3 };
const transfer = await semel.transfers.create(request, { key: 'order-0001-client' });
const again = await semel.transfers.create(request, { key: 'order-0001-client' });
const refused: unknown = await semel.transfers.create({ ...request, amount: 9 }).catch((error: unknown) => error);
const code: string = refused instanceof SemelError ? refused.code : 'none';
const { balance }: { balance: number } = await semel.accounts.find(to.id);
console.log(JSON.stringify({ same: transfer.id === again.id, code, balance }));
`;

let folder: string;
let service: TestService;

beforeAll(async () => {
  service = await startTestService();
  folder = await mkdtemp(join(tmpdir(), 'semel-client-'));
  await mkdir(join(folder, 'node_modules', '@types'), { recursive: true });
  await symlink(root, join(folder, 'node_modules', 'semel'));
  await symlink(join(root, 'node_modules', '@types', 'node'), join(folder, 'node_modules', '@types', 'node'));
  await writeFile(join(folder, 'package.json'), JSON.stringify({ type: 'module' }));
  await writeFile(join(folder, 'program.ts'), program);
});

afterAll(async () => {
  await service.close();
  await rm(folder, { recursive: true });
});

it('the client is imported, compiled with strict types and run as its users do', async () => {
  const compilerOptions = { target: 'es2022', module: 'nodenext', strict: true, types: ['node'] };
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['program.ts'] }));
  const tsc = join(root, 'node_modules', '.bin', 'tsc');
  const compiled = await run(tsc, ['-p', folder]).catch((error: { stdout: string }) => error);
  expect(compiled.stdout).toBe('');
  const environment = { ...process.env, SEMEL_URL: service.api.url, SEMEL_API_KEY: testApiKey };
  const { stdout } = await run(process.execPath, [join(folder, 'program.js')], { env: environment });
  expect(JSON.parse(stdout)).toEqual({ same: true, code: 'INSUFFICIENT_FUNDS', balance: 3 });
});
