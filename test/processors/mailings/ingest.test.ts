import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { s3KeyPair, startS3Server } from '../../store/files/s3-server.ts';
import { type CountingSink, startCountingSink } from '../../support/counting-sink.ts';
import { judgeMailing } from '../../support/judge-mailing.ts';
import { entriesOf, mailingWith, newMailing } from '../../support/mailings.ts';
import { startProcess } from '../../support/processes.ts';
import { openTestStores, startTestService } from '../../support/service.ts';
import { type DnsServer, startDnsServer } from './addresses/dns-server.ts';

let sink: CountingSink;
let dns: DnsServer;

beforeAll(async () => {
  sink = await startCountingSink();
  dns = await startDnsServer((type, name) => {
    if (name === 'silent.example') return undefined;
    if (name === 'none.example') return { code: 'NXDOMAIN' };
    return type === 'MX' ? { answers: [{ type: 'MX', name, data: { preference: 1, exchange: `mx.${name}` } }] } : {};
  });
});

afterAll(async () => {
  await sink.close();
  await dns.close();
});

const mailUrl = () => `${sink.url}?ignoreTLS=true`;

describe('mail servers of domains', () => {
  const csv = 'email\na@good.example\nb@none.example\nc@none.example\nd@silent.example\n';
  const start = (mode: string) =>
    startTestService({ environment: { MAIL_URL: mailUrl(), MX_CHECK: mode, MX_DNS_SERVERS: dns.address } });

  it('strict: an address whose domain has none is INVALID; a name server that is silent invalidates nobody', async () => {
    const service = await start('strict');
    const id = await newMailing(service.api, csv);
    await mailingWith(service.api, id, 'COMPLETED');
    expect(await entriesOf(service.api, id)).toMatchObject([
      { email: 'a@good.example', status: 'SENT' },
      { email: 'b@none.example', status: 'INVALID', invalidReason: 'mx' },
      { email: 'c@none.example', status: 'INVALID', invalidReason: 'mx' },
      { email: 'd@silent.example', status: 'SENT' },
    ]);
    expect(dns.questions.filter((question) => question === 'MX none.example')).toHaveLength(1);
    await service.close();
  });

  it('warn: it is noted, and the mail is sent', async () => {
    const service = await start('warn');
    const id = await newMailing(service.api, 'email\nb@none.example\n');
    await mailingWith(service.api, id, 'COMPLETED');
    expect(await entriesOf(service.api, id)).toMatchObject([
      { status: 'SENT', lastError: 'the domain has no mail server' },
    ]);
    await service.close();
  });

  it('off: nobody is asked', async () => {
    const service = await start('off');
    const asked = dns.questions.length;
    const id = await newMailing(service.api, csv);
    await mailingWith(service.api, id, 'COMPLETED');
    expect(dns.questions).toHaveLength(asked);
    await service.close();
  });
});

describe('addresses that come again', () => {
  it('far apart, close together or in another spelling are one entry, and each repetition is counted', async () => {
    const service = await startTestService({ environment: { MAIL_URL: mailUrl() } });
    const rows = Array.from({ length: 25_000 }, (_, index) => `user${index % 20_000}@example.com`);
    const csv = `email\nUSER1@Example.com\n user1@example.com \n${rows.join('\n')}\nx@mailinator.com\nx@mailinator.com\n`;
    const id = await newMailing(service.api, csv, { fields: { ratePerSecond: '1' } });
    const { totals } = await mailingWith(service.api, id, 'SENDING');
    expect(totals).toMatchObject({ lines: 25_004, entries: 20_001, duplicates: 5_003, invalid: 1 });
    await service.close();
  });
});

describe('files in S3', () => {
  it('an API and a worker share them, and the mailing goes through', async () => {
    const s3 = await startS3Server();
    await s3.createBucket('mailings');
    const stores = await openTestStores({
      MAIL_URL: mailUrl(),
      STORAGE_URL: `s3://mailings/lists`,
      S3_ENDPOINT: s3.endpoint,
      AWS_REGION: 'eu-west-1',
      ...s3KeyPair,
    });
    const [api, worker] = await Promise.all([
      startProcess('api', stores.environment),
      startProcess('worker', stores.environment),
    ]);
    const id = await newMailing(api.api, 'email\nin-s3@example.com\n');
    await mailingWith(api.api, id, 'COMPLETED');
    expect(await judgeMailing(stores.db, id, sink)).toMatchObject({ sent: 1 });
    await Promise.all([api.stop(), worker.stop()]);
    await stores.close();
    await s3.close();
  });
});
