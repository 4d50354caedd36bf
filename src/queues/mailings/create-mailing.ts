import { v7 as uuidv7 } from 'uuid';
import { AppError } from '../../errors.ts';
import type { Database, DatabaseTransaction } from '../../store/database.ts';
import { queueIngest } from '../../store/mailings/mailing-actions.ts';
import { addMailingHistory } from '../../store/mailings/mailing-history.ts';
import {
  findSameFile,
  insertMailing,
  lockIdentity,
  type MailingRow,
  type NewMailing,
  readMailing,
} from '../../store/mailings/mailings.ts';
import { removeFromOutbox, type StayingJob } from '../../store/outbox.ts';
import { claimRecords, finishRecords, type RecordRow, submitRecords } from '../../store/records.ts';
import { scopedKeyOf } from '../../store/scoped-key.ts';
import { differingFieldsOf, fingerprintOf } from '../fingerprint.ts';
import { operationsQueue } from '../queues.ts';

export const uploadOperation = 'mailing.upload';

/** What makes an upload the same as one before: its name and its content, or only one of them. */
export const identities = ['both', 'filename', 'content'] as const;
export type Identity = (typeof identities)[number];

export interface UploadedMailing extends Omit<NewMailing, 'id' | 'keyed'> {
  subClient: string;
  /** The client's own key. It takes the place of filename and content. */
  key: string | undefined;
  identity: Identity;
}

export interface CreatedMailing {
  mailing: MailingRow;
  created: boolean;
  matchedBy?: 'filename' | 'content' | 'key';
  job?: StayingJob;
}

/** A key of an upload answers for thirty days: a list that is sent twice by mistake is sent within weeks. */
const keyTtlSeconds = 30 * 86_400;

/** Commits the mailing, the record of its upload and the job that reads it, or finds the mailing that it repeats. */
export async function createMailing(db: Database, upload: UploadedMailing): Promise<CreatedMailing> {
  return await db.transaction().execute(async (tx) => {
    await lockIdentity(tx, upload);
    if (upload.key !== undefined) return await createUnderKey(tx, upload);
    const known = await findSameFile(tx, upload);
    return matchFile(known, upload) ?? (await insert(tx, upload));
  });
}

function matchFile(known: readonly MailingRow[], upload: UploadedMailing): CreatedMailing | undefined {
  const sameName = known.filter((mailing) => mailing.filename === upload.filename);
  const same = sameName.find((mailing) => mailing.content_hash === upload.contentHash);
  if (same) return { mailing: same, created: false, matchedBy: 'filename' };
  const [reused] = upload.identity === 'content' ? [] : sameName;
  if (reused) {
    const detail = 'Another file was uploaded under this name before. Rename it, or add ?identity=content.';
    throw new AppError('FILENAME_REUSED', detail, { extra: { mailingId: reused.id, effect: 'not_applied' } });
  }
  if (upload.identity === 'filename') return undefined;
  const sameContent = known.find((mailing) => mailing.content_hash === upload.contentHash);
  return sameContent && { mailing: sameContent, created: false, matchedBy: 'content' };
}

async function createUnderKey(tx: DatabaseTransaction, upload: UploadedMailing): Promise<CreatedMailing> {
  const record = await submit(tx, upload);
  if (record.created) return await settle(tx, upload, record);
  const request = requestOf(upload);
  if (record.fingerprint !== fingerprintOf(uploadOperation, request)) {
    const differingFields = differingFieldsOf(record.request, request);
    const detail = `The key belongs to another upload, which differs in ${differingFields.join(', ')}.`;
    const extra = { operationId: record.id, differingFields, effect: 'applied' };
    throw new AppError('INCONSISTENT_REQUEST', detail, { extra });
  }
  const mailing = await readMailing(tx, record.id);
  if (!mailing) throw new AppError('NOT_FOUND', 'The mailing of this key has been deleted.');
  return { mailing, created: false, matchedBy: 'key' };
}

async function insert(tx: DatabaseTransaction, upload: UploadedMailing): Promise<CreatedMailing> {
  return await settle(tx, upload, await submit(tx, upload));
}

/** The upload is an operation like any other, with a record and a trail. It is settled at once, so it needs no job. */
async function submit(tx: DatabaseTransaction, upload: UploadedMailing) {
  const id = uuidv7();
  const scope = {
    id,
    client: upload.client,
    sub_client: upload.subClient,
    operation: uploadOperation,
    key: upload.key ?? null,
  };
  const request = requestOf(upload);
  const [record] = await submitRecords(tx, [
    {
      ...scope,
      fingerprint: fingerprintOf(uploadOperation, request),
      request,
      actor: `client:${upload.client}`,
      outbox_id: id,
      queue: operationsQueue,
      job_id: scopedKeyOf(scope),
      reply_to: null,
      relay_after_ms: 0,
    },
  ]);
  if (!record) throw new AppError('UNAVAILABLE', 'The key is changing hands. Try again.');
  if (record.created) await removeFromOutbox(tx, [id]);
  return record;
}

async function settle(tx: DatabaseTransaction, upload: UploadedMailing, record: RecordRow): Promise<CreatedMailing> {
  const actor = `client:${upload.client}`;
  const [claimed] = await claimRecords(tx, [record.id], actor);
  if (!claimed) throw new Error('a record that was just made cannot be claimed');
  const mailing = await insertMailing(tx, { ...upload, id: record.id, keyed: upload.key !== undefined });
  await finishRecords(
    tx,
    [
      {
        id: record.id,
        epoch: claimed.epoch,
        status: 'SUCCEEDED',
        response_status: 202,
        response_body: JSON.stringify({ mailingId: record.id, filename: upload.filename }),
        error: null,
        resource_type: 'mailing',
        resource_id: record.id,
        events: [],
        ttl_seconds: keyTtlSeconds,
        detail: null,
      },
    ],
    actor,
  );
  await addMailingHistory(tx, { mailingId: mailing.id, from: null, to: 'QUEUED', actor });
  const job = await queueIngest(tx, mailing.id);
  return { mailing, created: true, job };
}

/** What is kept of the request: enough to tell it from another one. The texts are with the mailing. */
function requestOf(upload: UploadedMailing) {
  const { filename, contentHash: content, ratePerSecond } = upload;
  return { filename, content, ratePerSecond };
}
