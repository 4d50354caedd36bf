import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Api, testApiKey } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { csvOf, mailingWith, uploadCsv } from '../support/mailings.ts';
import { startServiceOn, startTestService, type TestService } from '../support/service.ts';

let service: TestService;

beforeAll(async () => {
  service = await startTestService({ environment: { UPLOAD_MAX_BYTES: '1000000' } });
});

afterAll(() => service.close());

const upload = (csv: string, filename: string, query = '') => uploadCsv(service.api, csv, { filename, query });
const filesIn = async (folder: string) => {
  const path = join(service.environment.SEMEL_DATA_DIR ?? '', 'files', folder);
  return existsSync(path) ? await readdir(path) : [];
};
const countMailings = async () => (await service.db.selectFrom('mailings').select('id').execute()).length;

describe('an upload is known by its name and its content', () => {
  it('all four cases, and what ?identity= makes of them', async () => {
    const first = await upload(csvOf(1), 'a.csv');
    expect(first).toMatchObject({ status: 202, body: { created: true } });
    const { mailingId } = first.body;
    expect(await upload(csvOf(1), 'a.csv')).toMatchObject({
      status: 200,
      body: { mailingId, created: false, matchedBy: 'filename' },
      headers: { 'idempotent-replayed': 'true' },
    });
    expect(await upload(csvOf(1), 'b.csv')).toMatchObject({
      status: 200,
      body: { mailingId, created: false, matchedBy: 'content', filename: 'a.csv' },
    });
    expect(await upload(csvOf(2), 'a.csv')).toMatchObject({
      status: 409,
      body: { code: 'FILENAME_REUSED', mailingId },
    });
    expect((await upload(csvOf(1), 'b.csv', 'identity=filename')).body).toMatchObject({ created: true });
    expect((await upload(csvOf(2), 'a.csv', 'identity=content')).body).toMatchObject({ created: true });
  });

  it('or by its key, which answers for nothing else', async () => {
    const send = (csv: string) => uploadCsv(service.api, csv, { filename: 'keyed.csv', key: 'list-of-may' });
    const first = await send(csvOf(3));
    expect(first.status).toBe(202);
    expect(await send(csvOf(3))).toMatchObject({ status: 200, body: { created: false, matchedBy: 'key' } });
    expect(await send(csvOf(4))).toMatchObject({ status: 422, body: { code: 'INCONSISTENT_REQUEST' } });
  });

  it('twenty at once are one mailing and one file', async () => {
    const [mailings, files] = [await countMailings(), (await filesIn('mailings')).length];
    const answers = await Promise.all(Array.from({ length: 20 }, () => upload(csvOf(5), 'race.csv')));
    expect(answers.filter((answer) => answer.body.created)).toHaveLength(1);
    expect(new Set(answers.map((answer) => answer.body.mailingId)).size).toBe(1);
    expect(await countMailings()).toBe(mailings + 1);
    expect(await filesIn('mailings')).toHaveLength(files + 1);
  });

  it('thirty at once over two API processes are one mailing, one file and one mail', async () => {
    const second = await startServiceOn(service, { role: 'api' });
    const apis = [service.api, new Api(second.url ?? '')];
    const files = (await filesIn('mailings')).length;
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, index) =>
        // Half of them under another name: those are known by their content.
        uploadCsv(apis[index % 2] ?? service.api, 'email\nrace@example.com\n', {
          filename: `race-${index % 4 > 1}.csv`,
        }),
      ),
    );
    expect(answers.map((answer) => answer.status).toSorted()).toEqual([...Array(29).fill(200), 202]);
    const ids = [...new Set(answers.map((answer) => answer.body.mailingId))];
    expect(ids).toHaveLength(1);
    expect(await filesIn('mailings')).toHaveLength(files + 1);
    expect((await mailingWith(service.api, ids[0], 'COMPLETED')).totals).toMatchObject({ entries: 1, sent: 1 });
    await second.close();
  });
});

describe('an upload that comes to nothing', () => {
  it('because the client is gone leaves no mailing and no file', async () => {
    const [mailings, files] = [await countMailings(), (await filesIn('mailings')).length];
    const { hostname, port } = new URL(service.api.url);
    const socket = connect(Number(port), hostname);
    socket.write(
      `POST /v1/mailings?filename=cut.csv HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${testApiKey}\r\n` +
        `content-type: text/csv\r\ncontent-length: 900000\r\n\r\n${csvOf(5_000)}`,
    );
    await eventually(async () => expect(await filesIn('.drafts')).toHaveLength(1));
    socket.destroy();
    await eventually(async () => expect(await filesIn('.drafts')).toEqual([]));
    expect(await filesIn('mailings')).toHaveLength(files);
    expect(await countMailings()).toBe(mailings);
  });

  it.each([
    ['no email column', 'name\nAda\n', 400, 'CSV_INVALID'],
    ['nothing in it', '', 400, 'CSV_EMPTY'],
    ['a header and no row', 'email\n', 400, 'CSV_EMPTY'],
    ['not UTF-8', Buffer.from('email,name\na@example.com,caf\xe9\n', 'latin1'), 400, 'CSV_INVALID'],
    ['an open quote', 'email\n"a@example.com\n', 400, 'CSV_INVALID'],
    ['too large', `email\n${'x'.repeat(1_000_001)}`, 413, 'TOO_LARGE'],
  ])('because of %s is refused at once, and nothing is kept', async (_, csv, status, code) => {
    const files = (await filesIn('mailings')).length;
    expect(await uploadCsv(service.api, csv)).toMatchObject({ status, body: { code } });
    expect(await filesIn('mailings')).toHaveLength(files);
    expect(await filesIn('.drafts')).toEqual([]);
  });

  it('because a text names an unknown field says which fields there are', async () => {
    const answer = await uploadCsv(service.api, csvOf(1, 70), { fields: { subject: 'Hi {{nmae}}' } });
    expect(answer).toMatchObject({ status: 400, body: { code: 'TEMPLATE_INVALID' } });
    expect(answer.body.detail).toMatch(/\{\{nmae\}\}.*email, name, token, verifyUrl/);
  });
});
