import { v7 as uuidv7 } from 'uuid';
import type { Database } from '../../../src/store/database.ts';
import { addDeadLetter } from '../../../src/store/dead-letters.ts';
import { claimRecords, finishRecords, submitRecords } from '../../../src/store/records.ts';

/** What the examples for operators speak of: two transfers that gave up, one of which nobody can tell, a mail sent twice. */
export async function plantTroubles(db: Database): Promise<void> {
  await plant(db, 'example-failed-1', 'FAILED');
  await plant(db, 'example-failed-2', 'FAILED');
  await plant(db, 'example-unknown', 'UNKNOWN');
  const mailingId = uuidv7();
  const detail = JSON.stringify({ mailingId, line: 7, claims: [1, 2] });
  const fault = { invariant: 'entries_sent_twice', subject: `entry:${mailingId}:7`, detail } as const;
  await db.insertInto('invariant_faults').values(fault).execute();
}

async function plant(db: Database, key: string, status: 'FAILED' | 'UNKNOWN'): Promise<void> {
  const id = uuidv7();
  const request = { fromAccountId: uuidv7(), toAccountId: uuidv7(), amount: 1 };
  const scope = { client: 'default', sub_client: '', operation: 'transfer.create', key };
  const actor = 'client:default';
  // Nobody is to bring its job: it is settled below.
  const job = { queue: 'operations', job_id: key, reply_to: null, relay_after_ms: 3_600_000, outbox_id: id };
  await submitRecords(db, [{ id, ...scope, fingerprint: 'planted', request, actor, ...job }]);
  await db.transaction().execute(async (tx) => {
    await claimRecords(tx, [id], 'worker:planted');
    const message = 'An attempt was cut off in the middle. A person has to say what became of it.';
    const [record] = await finishRecords(
      tx,
      [
        {
          id,
          epoch: 1,
          status,
          response_status: null,
          response_body: null,
          error: { code: status === 'FAILED' ? 'OPERATION_FAILED' : 'OUTCOME_UNKNOWN', message },
          resource_type: null,
          resource_id: null,
          events: [],
          ttl_seconds: 3_600,
          detail: null,
        },
      ],
      'worker:planted',
    );
    const error = { code: 'OPERATION_FAILED', message: 'the disk is full' };
    if (record && status === 'FAILED') await addDeadLetter(tx, record, error);
  });
}
