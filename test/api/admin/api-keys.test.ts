import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { revokeApiKey } from '../../../src/store/api-keys.ts';
import { Api } from '../../support/api.ts';
import { eventually } from '../../support/eventually.ts';
import { startServiceOn, startTestService, type TestService } from '../../support/service.ts';

let service: TestService;
let other: Awaited<ReturnType<typeof startServiceOn>>;
let otherApi: Api;

beforeAll(async () => {
  service = await startTestService();
  other = await startServiceOn(service, { role: 'api' });
  otherApi = new Api(other.url ?? '');
});

afterAll(async () => {
  await otherApi.close();
  await other.close();
  await service.close();
});

const create = (client: string, scopes: string[]) => service.api.post('/v1/admin/api-keys', { client, scopes });
const revoke = (id: string) => service.api.send('DELETE', `/v1/admin/api-keys/${id}`);
const list = async () => (await service.api.get('/v1/admin/api-keys?limit=200')).body.items;

describe('a new key', () => {
  it('is shown once, opens what its scopes open, and is never shown again', async () => {
    const client = `shop-${randomUUID()}`;
    const created = await create(client, ['operate']);
    expect(created).toMatchObject({ status: 201, body: { client, scopes: ['operate'], lastUsedAt: null } });
    const { id, key } = created.body;
    expect(key).toMatch(/^semel_[\w-]{43}$/);
    expect((await service.api.get('/v1/operations', { apiKey: key })).status).toBe(200);
    expect((await service.api.get('/v1/admin/actions', { apiKey: key })).body.code).toBe('FORBIDDEN');
    const listed = (await service.api.get('/v1/admin/api-keys')).text;
    expect(listed).toContain(id);
    expect(listed).not.toContain(key);
    const rows = await service.db.selectFrom('api_keys').selectAll().where('id', '=', id).execute();
    expect(JSON.stringify(rows)).not.toContain(key);
    const actions = (await service.api.get('/v1/admin/actions')).body.items;
    const [own] = await list().then((keys) => keys.filter((item: { client: string }) => item.client === 'default'));
    expect(actions[0]).toMatchObject({
      action: 'api-key.create',
      subject: id,
      actor: `admin:default:${own.id}`,
      detail: { client, scopes: ['operate'] },
    });
    expect((await service.api.get('/v1/admin/actions')).text).not.toContain(key);
  });

  it.each([
    [{ client: 'a b', scopes: ['operate'] }],
    [{ client: '', scopes: ['operate'] }],
    [{ client: 'shop', scopes: [] }],
    [{ client: 'shop', scopes: ['everything'] }],
    [{ client: 'shop', scopes: ['admin', 'admin'] }],
    [{ client: 'shop', scopes: ['operate'], key: 'mine' }],
    [{ client: 'shop' }],
  ])('is refused for %j', async (body) => {
    expect(await service.api.post('/v1/admin/api-keys', body)).toMatchObject({
      status: 400,
      body: { code: 'INVALID_REQUEST' },
    });
  });

  it('has a time of last use, kept without a write for each request', async () => {
    const { id, key } = (await create('busy', ['operate'])).body;
    const lastUsed = async () => (await list()).find((item: { id: string }) => item.id === id).lastUsedAt;
    for (let i = 0; i < 20; i += 1) await service.api.get('/v1/operations', { apiKey: key });
    const first = await lastUsed();
    expect(Date.parse(first)).toBeGreaterThan(Date.now() - 60_000);
    // Within the seconds that a process remembers a key, more requests write nothing.
    const before = await service.db.selectFrom('api_keys').select('last_used_at').where('id', '=', id).execute();
    for (let i = 0; i < 20; i += 1) await service.api.get('/v1/operations', { apiKey: key });
    await list();
    expect(await service.db.selectFrom('api_keys').select('last_used_at').where('id', '=', id).execute()).toEqual(
      before,
    );
  });
});

describe('a revoked key', () => {
  it('is refused by every process, and revoking it again changes nothing', async () => {
    const { id, key } = (await create('leaver', ['operate'])).body;
    for (const api of [service.api, otherApi]) {
      expect((await api.get('/v1/operations', { apiKey: key })).status).toBe(200);
    }
    expect((await revoke(id)).status).toBe(204);
    expect((await service.api.get('/v1/operations', { apiKey: key })).status).toBe(401);
    await eventually(async () => expect((await otherApi.get('/v1/operations', { apiKey: key })).status).toBe(401));
    const revokedAt = (await list()).find((item: { id: string }) => item.id === id).revokedAt;
    expect((await revoke(id)).status).toBe(204);
    expect((await list()).find((item: { id: string }) => item.id === id).revokedAt).toBe(revokedAt);
    const actions = (await service.api.get('/v1/admin/actions?limit=200')).body.items;
    expect(actions.filter((item: { subject: string }) => item.subject === id)).toMatchObject([
      { action: 'api-key.revoke', detail: { client: 'leaver' } },
      { action: 'api-key.create' },
    ]);
  });

  it('that does not exist is not found', async () => {
    expect((await revoke(randomUUID())).status).toBe(404);
    expect((await revoke('nonsense')).status).toBe(404);
  });

  it('is never the last one of scope admin, not even when all are revoked at once', async () => {
    const [own] = (await list()).filter((item: { scopes: string[] }) => item.scopes.includes('admin'));
    expect(await revoke(own.id)).toMatchObject({ status: 409, body: { code: 'LAST_ADMIN_KEY' } });
    const deputies = await Promise.all(Array.from({ length: 4 }, () => create('deputy', ['admin', 'operate'])));
    const ids: string[] = [own.id, ...deputies.map(({ body }) => body.id)];
    // On connections that are open already, so that all begin at the same moment.
    await Promise.all(ids.map(() => sql`select pg_sleep(0.1)`.execute(service.db)));
    const outcomes = await Promise.all(ids.map((id) => revokeApiKey(service.db, id, 'test')));
    expect(outcomes.filter((outcome) => outcome === 'last-admin')).toHaveLength(1);
    const left = await service.db
      .selectFrom('api_keys')
      .select('id')
      .where('id', 'in', ids)
      .where('revoked_at', 'is', null)
      .execute();
    expect(left).toHaveLength(1);
  });
});

it('what operators did cannot be changed', async () => {
  await expect(service.db.deleteFrom('admin_actions').execute()).rejects.toThrow('append-only');
  await expect(service.db.updateTable('admin_actions').set({ actor: 'nobody' }).execute()).rejects.toThrow(
    'append-only',
  );
});
