import { chmod, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { startGuardian } from '../../scripts/embedded/start-guardian.ts';
import { createDocument, type OpenApiDocument } from '../../src/api/openapi/document.ts';
import { createRegistry, operations } from '../../src/processors/registry.ts';
import { migrateToLatest } from '../../src/store/migrate.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** The administrator's, from which test databases are made. */
    databaseUrl: string;
    redisUrl: string;
    /** Deleted at the end of the run, even if the run is killed. */
    runDir: string;
    /** What the API says of itself. */
    openApi: OpenApiDocument;
  }
}

/** One Postgres and one Redis for the whole run; each test file clones a database and takes a prefix. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const runDir = await mkdtemp(join(tmpdir(), 'semel-test-'));
  // As root, Postgres runs as another user, who has to pass through here.
  await chmod(runDir, 0o711);
  const guardian = await startGuardian({
    dir: runDir,
    ephemeral: true,
    postgres: { fsync: false },
    redis: { persistent: false },
  });
  const { databaseUrl, redisUrl } = guardian;
  if (databaseUrl === undefined || redisUrl === undefined) throw new Error('The guardian started no servers.');
  try {
    await createTemplate(databaseUrl);
  } catch (error) {
    await guardian.stop();
    throw error;
  }
  project.provide('databaseUrl', databaseUrl);
  project.provide('redisUrl', redisUrl);
  project.provide('runDir', runDir);
  project.provide('openApi', createDocument(createRegistry(operations)));
  return () => guardian.stop();
}

async function createTemplate(databaseUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query('create database semel_template');
    const templateUrl = new URL(databaseUrl);
    templateUrl.pathname = '/semel_template';
    await migrateToLatest(templateUrl.href);
  } finally {
    await client.end();
  }
}
