import { randomUUID } from 'node:crypto';
import type { Handler } from 'hono';
import type { z } from 'zod';
import { AppError } from '../../errors.ts';
import { printableKey } from '../../processors/define-operation.ts';
import { defaultTexts } from '../../processors/mailings/render-mail.ts';
import { type CreatedMailing, createMailing, uploadOperation } from '../../queues/mailings/create-mailing.ts';
import { isDatabaseUnavailable } from '../../store/database.ts';
import { isStorageFull } from '../../store/files/file-storage.ts';
import type { ApiContext, ApiEnv, ApiParts } from '../api-env.ts';
import { readIdempotencyKey } from '../idempotency-key.ts';
import type { uploadedMailingSchema } from '../mailing-view.ts';
import { validate } from '../read-json.ts';
import { ContentCheck } from '../upload/check-content.ts';
import { receiveUpload, type Upload } from '../upload/read-upload.ts';
import { uploadQuery } from '../upload/upload-fields.ts';

const keyPolicy = { name: uploadOperation, key: { required: false, pattern: printableKey } };
/** An upload whose next bytes do not come within this time is given up: a phone in a tunnel is back by then. */
const defaultStallTimeoutMs = 30_000;

type UploadParts = Pick<ApiParts, 'db' | 'mailings' | 'log' | 'metrics' | 'requestCounter'>;

/** Takes a file: streams it to the storage, and answers once the mailing is committed. */
export function uploadRoute(
  parts: UploadParts,
  { stallTimeoutMs = defaultStallTimeoutMs }: { stallTimeoutMs?: number } = {},
): Handler<ApiEnv> {
  const { maxBytes } = parts.mailings;
  return async (c: ApiContext) => {
    const key = readIdempotencyKey(c, keyPolicy);
    const { filename, identity } = validate(uploadQuery, c.req.query());
    const created = await receiveUpload(c, { filename, maxBytes, stallTimeoutMs }, async (upload) => {
      return await storeAndCreate(parts, c, upload, { key, identity });
    }).catch((error: unknown) => {
      countRefused(parts, error);
      throw error;
    });
    parts.metrics.intake.countUpload(uploadOperation, created.created ? 'created' : 'replayed', created.matchedBy);
    parts.mailings.hitFailpoint('upload.committed');
    parts.requestCounter.count(uploadOperation, created.created ? 'new' : 'duplicate');
    if (created.job) await parts.mailings.addJobs([created.job]);
    return answer(c, created);
  };
}

async function storeAndCreate(
  parts: UploadParts,
  c: ApiContext,
  { filename, fields, content }: Upload,
  naming: { key: string | undefined; identity: 'both' | 'filename' | 'content' },
): Promise<CreatedMailing> {
  const { storage, maxBytes, sender: defaultSender } = parts.mailings;
  const { client, subClient } = c.get('caller');
  const sender = fields.from ?? defaultSender;
  const subject = fields.subject ?? defaultTexts.subject;
  // Who gives a text of one kind wants no other beside it.
  const text = fields.text ?? (fields.html === undefined ? defaultTexts.text : null);
  const texts = { subject, text, html: fields.html ?? null };
  const check = new ContentCheck({ maxBytes, texts, sender });
  const fileName = `mailings/${randomUUID()}.csv`;
  await storage.write(fileName, check.pass(content)).catch((error: unknown) => {
    throw isStorageFull(error) ? noRoom(error) : error;
  });
  parts.mailings.hitFailpoint('upload.stored');
  const { bytes, hash, format } = check.finish();
  const file = { fileName, fileBytes: bytes, contentHash: hash, format };
  const ratePerSecond = fields.ratePerSecond ?? null;
  try {
    const upload = { client, subClient, filename, ...file, ...texts, sender, ratePerSecond, ...naming };
    const created = await createMailing(parts.db, upload);
    if (!created.created) await removeFile(parts, fileName);
    return created;
  } catch (error) {
    // If the connection broke at the commit, the mailing may be there and need its file. Housekeeping tells later.
    if (!isDatabaseUnavailable(error)) await removeFile(parts, fileName);
    throw error;
  }
}

/** Nothing was kept, and the same upload may succeed once somebody has made room. */
function noRoom(cause: unknown): AppError {
  const detail = 'There is no room for the file at the moment. Send it again later.';
  return new AppError('UNAVAILABLE', detail, { extra: { effect: 'not_applied' }, cause });
}

/** A file that stays costs room and nothing else, so it is no reason to fail. */
async function removeFile({ mailings, log }: UploadParts, fileName: string): Promise<void> {
  await mailings.storage.remove(fileName).catch((error: unknown) => {
    log.warn({ err: error, fileName }, 'a file that nobody needs was not removed');
  });
}

/** What came under a name or a key of another file. What is refused for itself repeats nothing. */
function countRefused({ metrics, requestCounter }: UploadParts, error: unknown): void {
  const isMismatch = error instanceof AppError && ['FILENAME_REUSED', 'INCONSISTENT_REQUEST'].includes(error.code);
  if (!isMismatch) return;
  metrics.intake.countUpload(uploadOperation, 'mismatched', 'mismatch');
  requestCounter.count(uploadOperation, 'mismatch');
}

function answer(c: ApiContext, { mailing, created, matchedBy }: CreatedMailing): Response {
  const { id, filename, status } = mailing;
  const body: z.infer<typeof uploadedMailingSchema> = {
    mailingId: id,
    filename,
    status,
    created,
    ...(matchedBy && { matchedBy }),
  };
  const headers = {
    'content-type': 'application/json',
    'x-request-id': c.get('requestId'),
    'operation-id': id,
    'idempotent-replayed': String(!created),
    location: `/v1/mailings/${id}`,
  };
  return new Response(JSON.stringify(body), { status: created ? 202 : 200, headers });
}
