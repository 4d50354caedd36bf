import { appendFile, open } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';

const capturedMail = z.object({
  at: z.string(),
  messageId: z.string(),
  to: z.string(),
  subject: z.string(),
  /** The name of the file in the same folder. */
  file: z.string(),
});

export type CapturedMail = z.infer<typeof capturedMail>;

const listName = 'list.ndjson';
/** A usual line, so that the first look at the file's end most often suffices. */
const usualLineBytes = 512;
/** No line is longer: an address and a subject of 998 characters each, of up to four bytes, and the rest. */
const maxLineBytes = 10_000;

/** One write at the end of the file, which no other process's line can part. Mail is nobody else's business. */
export async function listCapturedMail(folder: string, mail: CapturedMail): Promise<void> {
  await appendFile(join(folder, listName), `${JSON.stringify(mail)}\n`, { mode: 0o600 });
}

/** The newest first. Only the end of the file is read, however long the file is. */
export async function listCaptured(folder: string, { limit }: { limit: number }): Promise<CapturedMail[]> {
  const maxBytes = limit * maxLineBytes;
  for (let bytes = limit * usualLineBytes; ; bytes *= 4) {
    const { lines, isAll } = await readLastLines(join(folder, listName), Math.min(bytes, maxBytes));
    if (isAll || lines.length >= limit || bytes >= maxBytes) return lines.reverse().flatMap(parseLine).slice(0, limit);
  }
}

/** Only whole lines: the first may be cut by the window, and the last may still be in the writing. */
async function readLastLines(path: string, maxBytes: number): Promise<{ lines: string[]; isAll: boolean }> {
  const file = await open(path, 'r').catch((error: NodeJS.ErrnoException) => {
    // Nothing was captured yet.
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (!file) return { lines: [], isAll: true };
  try {
    const { size } = await file.stat();
    const start = Math.max(0, size - maxBytes);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(size - start), 0, size - start, start);
    const lines = buffer.toString('utf8', 0, bytesRead).split('\n').slice(0, -1);
    return { lines: start === 0 ? lines : lines.slice(1), isAll: start === 0 };
  } finally {
    await file.close();
  }
}

/** A line that a full disk cut short is left out. The mail's file is there all the same. */
function parseLine(line: string): CapturedMail[] {
  try {
    const parsed = capturedMail.safeParse(JSON.parse(line));
    return parsed.success ? [parsed.data] : [];
  } catch (error) {
    if (error instanceof SyntaxError) return [];
    throw error;
  }
}
