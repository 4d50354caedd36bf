import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { inject } from 'vitest';

export { type PrivateServer, startPrivatePostgres, startPrivateRedis } from './private-servers.ts';

export interface TestDatabase {
  readonly url: string;
  drop(): Promise<void>;
}

/** A migrated, empty database of the caller's own. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const name = `test_${process.pid}_${randomBytes(6).toString('hex')}`;
  await cloneTemplate(name);
  const url = new URL(inject('databaseUrl'));
  url.pathname = `/${name}`;
  return {
    url: url.href,
    drop: () => asAdministrator((client) => client.query(`drop database if exists ${name} (force)`)),
  };
}

/** Keeps the keys of one test file apart from those of the others, which use the same Redis. */
export function testRedisPrefix(): string {
  return `test-${process.pid}-${randomBytes(6).toString('hex')}`;
}

export function testRedisUrl(): string {
  return inject('redisUrl');
}

/** Postgres refuses to clone a template somebody is connected to, and a clone under way is such a connection. */
async function cloneTemplate(name: string): Promise<void> {
  await asAdministrator(async (client) => {
    // An arbitrary number that all test files agree on: one clone at a time.
    await client.query('select pg_advisory_lock(5343)');
    // Autovacuum may be in the template for a moment; ten seconds are far more than it needs on an empty one.
    for (let attempt = 1; ; attempt += 1) {
      try {
        await client.query(`create database ${name} template semel_template strategy file_copy`);
        return;
      } catch (error) {
        const isTemplateInUse = error instanceof pg.DatabaseError && error.code === '55006';
        if (!isTemplateInUse || attempt === 100) throw error;
        await sleep(100);
      }
    }
  });
}

async function asAdministrator(work: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = new pg.Client({ connectionString: inject('databaseUrl') });
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}
