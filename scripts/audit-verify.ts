import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type AuditReport, findSealableInstant, verifyAudit, wasTrimmedSince } from '../src/store/audit-verify.ts';
import { type Database, isDatabaseUnavailable, openDatabase, sqlStateOf } from '../src/store/database.ts';
import { pendingMigrations } from '../src/store/migrate.ts';
import { type AuditOptions, readAuditOptions } from './audit-verify/options.ts';
import { createReporter } from './audit-verify/reporter.ts';
import { openPostgres } from './start/embedded-postgres.ts';
import { StartError } from './start/start-error.ts';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** Zero if every trail is whole and the given seal, if any, still fits. */
async function main(): Promise<0 | 1> {
  const options = readAuditOptions(process.argv.slice(2));
  const envFile = join(root, '.env');
  if (existsSync(envFile)) process.loadEnvFile(envFile);
  const postgres = await openPostgres(resolve(root, process.env.SEMEL_DATA_DIR || '.semel'), process.env);
  const db = openDatabase({
    url: postgres.url,
    poolSize: 1,
    applicationName: 'semel-audit-verify',
    idleInTransactionTimeoutMs: 0,
    onError: () => undefined,
  });
  try {
    return await verify(db, options);
  } finally {
    await db.destroy();
    await postgres.close();
  }
}

async function verify(db: Database, { recordId, since, seal }: AuditOptions): Promise<0 | 1> {
  const pending = await pendingMigrations(db);
  if (pending.length > 0) throw new StartError(`The database lacks the migrations ${pending.join(', ')}.`);
  const isWhole = recordId === undefined && since === undefined;
  const sealedUntil = seal?.until ?? (await findSealableInstant(db));
  const reporter = createReporter();
  const report = await verifyAudit(db, {
    ...(recordId !== undefined && { recordId }),
    ...(since !== undefined && { since }),
    sealedUntil,
    onFault: reporter.showFault,
    onProgress: reporter.showProgress,
  });
  if (recordId !== undefined && report.chains === 0 && report.faults === 0) {
    throw new StartError(`There is no record ${recordId}, and no trail of one.`);
  }
  reporter.showResult(report);
  const doesSealFit = seal === undefined || (await compareSeal(db, seal, report));
  if (isWhole && seal === undefined) {
    console.log(`Seal: ${sealedUntil.toISOString()}/${report.seal}`);
    console.log(
      'Keep it elsewhere. Later, "npm run audit:verify -- --seal SEAL" tells whether anything up to then is another.',
    );
  }
  return report.faults === 0 && doesSealFit ? 0 : 1;
}

async function compareSeal(db: Database, seal: { until: Date; digest: string }, report: AuditReport): Promise<boolean> {
  const until = seal.until.toISOString();
  if (report.seal === seal.digest) {
    console.log(`The seal fits: up to ${until} every trail ends as it did.`);
    return true;
  }
  const wasTrimmed = await wasTrimmedSince(db, seal.until);
  console.error(
    wasTrimmed
      ? `The seal of ${until} cannot be compared any more: old months were dropped since. Make a new one.`
      : `BROKEN: the seal does not fit. A trail of before ${until} was changed, removed or added since.`,
  );
  return false;
}

try {
  process.exitCode = await main();
} catch (error) {
  const isPlain = error instanceof StartError || sqlStateOf(error) !== undefined || isDatabaseUnavailable(error);
  const [first] = error instanceof AggregateError ? error.errors : [error];
  console.error(isPlain && first instanceof Error ? first.message : error);
  process.exitCode = 1;
}
process.exit();
