import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Lab } from '../../support/lab/lab.ts';
import type { Scenario } from '../../support/lab/scenario.ts';
import { holdUploads } from '../../support/lab/slow-uploads.ts';
import { TcpProxy } from '../../support/tcp-proxy.ts';
import { beginMixedLoad, loadUntil } from './mixed-load.ts';

/** Rows for submit_records, as an API would write them that dies before it enqueues. */
function newRecords(lab: Lab, count: number): string {
  const [fromAccountId, toAccountId] = lab.load.accounts;
  const rows = Array.from({ length: count }, () => {
    const key = randomUUID();
    return {
      id: randomUUID(),
      client: 'default',
      sub_client: '',
      operation: 'transfer.create',
      key,
      fingerprint: key,
      request: { fromAccountId, toAccountId, amount: 1 },
      actor: 'client:default',
      outbox_id: randomUUID(),
      queue: 'operations',
      job_id: `transfer.create~default~${key}`,
      reply_to: null,
      relay_after_ms: 0,
    };
  });
  for (const row of rows) lab.journal.acknowledged.set(row.id, row.operation);
  return JSON.stringify(rows);
}

export const trafficScenarios: readonly Scenario[] = [
  {
    name: 'an outbox transaction held open beside later commits',
    run: async (lab) => {
      await lab.prepare();
      const client = await lab.db.connect();
      await client.query('begin');
      await client.query('select submit_records($1)', [newRecords(lab, 20)]);
      lab.inject('transaction held open');
      await lab.load.transfers(100, 15);
      await client.query('commit');
      client.release();
      await lab.load.transfers(20, 10);
    },
  },
  {
    name: 'a poison row among 1 000 in the outbox, and three relays',
    run: async (lab) => {
      await lab.prepare({ all: 1, workers: 2 });
      const id = randomUUID();
      lab.poison.add(id);
      // BullMQ refuses an id that is all digits.
      await lab.db.query(
        `insert into outbox (id, queue, name, job_id, data, next_attempt_at)
         values ($1, 'operations', 'transfer.create', '12345', '{}', now())`,
        [id],
      );
      await lab.db.query('select submit_records($1)', [newRecords(lab, 1_000)]);
      lab.inject('poison row');
      // By force: whatever is in its queue already is relayed again, by all of them.
      for (let time = 1; time <= 10; time += 1) {
        await pause(100);
        const { rowCount } = await lab.db.query('update outbox set next_attempt_at = now()');
        lab.inject('row relayed again', rowCount ?? 0);
      }
    },
  },
  {
    name: 'clients cut off after sending',
    run: async (lab) => {
      await lab.prepare();
      const [url = ''] = lab.running('api').map((service) => service.api.url);
      const proxy = await TcpProxy.open(Number(new URL(url).port));
      lab.apiUrls = () => [proxy.through(url)];
      proxy.loseReply({ reply: /HTTP\/1\.1 20\d/, times: 60 });
      beginMixedLoad(lab, { mailings: 2 });
      await lab.progress(60);
      lab.inject('answer lost', proxy.lostReplies);
      lab.apiUrls = undefined;
      await proxy.close();
    },
  },
  {
    name: '500 slow uploads beside normal traffic',
    run: async (lab) => {
      await lab.prepare({ apis: 1, workers: 1 });
      const [url = ''] = lab.running('api').map((service) => service.api.url);
      const uploads = await holdUploads(url, 500);
      lab.inject('slow upload', uploads.count());
      await Promise.all([lab.load.transfers(200, 15), lab.load.mailing(40), uploads.trickle(5)]);
      if (uploads.count() < 450) throw new Error(`only ${uploads.count()} of the uploads are still under way`);
      uploads.cut();
      lab.inject('upload cut off', 500);
    },
  },
  {
    name: 'the disk full for uploads',
    run: async (lab) => {
      // 64 kB: enough for a small file, too little for a large one. Logs go to a pipe.
      const under = ['sh', '-c', 'ulimit -f 128; exec "$@"', 'sh'];
      await lab.start('api', { under });
      await lab.prepare({ workers: 1 });
      const [api] = lab.running('api');
      const rows = Array.from({ length: 20_000 }, (_, index) => `user${index}@example.com`).join('\n');
      beginMixedLoad(lab, { mailings: 3 });
      for (let time = 1; time <= 5; time += 1) {
        const answer = await api?.api.send('POST', '/v1/mailings?filename=large.csv', `email\n${rows}\n`, {
          headers: { 'content-type': 'text/csv' },
        });
        if (answer?.status !== 503 || answer.body.code !== 'UNAVAILABLE') {
          throw new Error(`a full disk was answered with ${answer?.status} ${answer?.text}`);
        }
        lab.inject('upload that does not fit');
      }
    },
  },
  {
    name: 'a mail server that hangs, refuses, and drops after DATA',
    run: async (lab) => {
      lab.mail.moodFor = (address, times) => {
        const mood = times > 0 ? 'take' : (moods[Number(/user(\d+)\./.exec(address)?.[1] ?? 0) % 12] ?? 'take');
        if (mood !== 'take') lab.inject(typeof mood === 'object' ? `${mood.code} at ${mood.at}` : mood);
        return mood;
      };
      await lab.prepare();
      await Promise.all([lab.load.mailing(48), lab.load.mailing(48)]);
      await lab.untilQuiet();
    },
  },
  {
    name: 'a webhook receiver that applies an event and then fails',
    run: async (lab) => {
      lab.webhooks.receptionFor = (_id, times) => {
        const reception = times < 3 ? lab.random.pick(receptions) : 'take';
        if (reception !== 'take') lab.inject(`receiver: ${reception}`);
        return reception;
      };
      await lab.prepare({ all: 2 });
      await lab.load.transfers(100, 15);
      await lab.untilQuiet();
    },
  },
  {
    name: 'a column added by a later version while this one runs',
    run: async (lab) => {
      await lab.prepare();
      let isOver = false;
      lab.begin(loadUntil(lab, () => isOver));
      for (const table of ['records', 'outbox', 'events', 'accounts', 'transfers', 'mailings', 'mailing_entries']) {
        await lab.progress(10);
        await lab.db.query(`alter table ${table} add column lab_note text default 'new'`);
        lab.inject('column added');
      }
      await lab.db.query(`insert into kysely_migration (name, timestamp) values ('9999_lab', 'now')`);
      // This version, started beside the newer schema: the older one of the two.
      await Promise.all([lab.start('api'), lab.start('worker')]);
      lab.inject('older process started');
      await lab.progress(40);
      isOver = true;
    },
  },
];

const receptions = ['take', 'refuse', 'hang', 'apply-and-fail', 'apply-and-cut'] as const;

/** By the number in the address: most are met kindly, the others each in a way of their own, the first time. */
const moods = [
  { code: 421, at: 'rcpt' },
  { code: 451, at: 'data' },
  { code: 550, at: 'rcpt' },
  'drop-after-data',
  'hang-at-data',
  { code: 554, at: 'data' },
  'hang-at-rcpt',
] as const;
