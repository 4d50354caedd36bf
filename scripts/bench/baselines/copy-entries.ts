import { randomBytes, randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { from as copyFrom } from 'pg-copy-streams';
import { withClient } from '../accounts.ts';
import { answerQuestions } from '../mailings/ask-process.ts';
import { makeFirstPeople } from '../mailings/people.ts';
import type { CopyPlan, Timed } from '../mailings/protocol.ts';

// What Postgres costs by itself: the finished rows, in one COPY. The text is made before the clock starts.

// As much as a file stream gives at once.
const pieceBytes = 65_536;

answerQuestions<CopyPlan, Timed>(async ({ databaseUrl, table, prefix, rows }) => {
  const { pieces, count } = prepareText(prefix, rows);
  return await withClient(databaseUrl, async (client) => {
    const columns = 'mailing_id, line, email, token, status, invalid_reason, last_error, raw, cells';
    const startedMs = performance.now();
    await pipeline(Readable.from(pieces), client.query(copyFrom(`copy ${table} (${columns}) from stdin`)));
    return { count, tookMs: performance.now() - startedMs };
  });
});

function prepareText(prefix: string, rows: number): { pieces: Buffer[]; count: number } {
  const mailingId = randomUUID();
  const pieces: Buffer[] = [];
  let piece = '';
  let count = 0;
  for (const { line, email, name, city } of makeFirstPeople(prefix, rows)) {
    const token = randomBytes(16).toString('hex');
    const cells = JSON.stringify([email, name, city]);
    piece += `${mailingId}\t${line}\t${email}\t${token}\tPENDING\t\\N\t\\N\t\\N\t${cells}\n`;
    count += 1;
    if (piece.length < pieceBytes) continue;
    pieces.push(Buffer.from(piece));
    piece = '';
  }
  return { pieces: [...pieces, Buffer.from(piece)], count };
}
