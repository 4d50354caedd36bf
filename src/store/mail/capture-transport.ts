import { randomUUID } from 'node:crypto';
import { link, mkdir, open, rename, rm, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { listCapturedMail } from './captured-mails.ts';
import { composeMail } from './compose-mail.ts';
import { MailError } from './mail-error.ts';
import type { MailMessage, MailTransport } from './mail-transport.ts';

/** Twice the four threads that Node writes files with, so that none of them waits for a mail. */
const maxInHand = 8;

/** Keeps each mail as a file. It is named by the Message-ID, so that a mail sent again is still one file. */
export function openCaptureTransport(folder: string): MailTransport {
  const inHand = new Set<Promise<string>>();
  let isClosed = false;
  return {
    maxInHand,
    send: async (message) => {
      if (isClosed) throw new MailError('not_sent', 'the mail transport is closed');
      const captured = captureMail(folder, message);
      inHand.add(captured);
      try {
        return { externalId: await captured };
      } finally {
        inHand.delete(captured);
      }
    },
    close: async () => {
      isClosed = true;
      await Promise.allSettled(inHand);
    },
  };
}

async function captureMail(folder: string, message: MailMessage): Promise<string> {
  const { content } = await composeMail(message);
  const { messageId, to, subject } = message;
  const file = `${messageId.slice(1, -1)}.eml`;
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const isNew = await writeWhole(folder, file, content);
    // A process that dies here leaves a mail that is not listed: the files are the truth, the list is for people.
    if (isNew) await listCapturedMail(folder, { at: new Date().toISOString(), messageId, to, subject, file });
  } catch (error) {
    throw new MailError('not_sent', `the mail was not written: ${error instanceof Error ? error.message : error}`);
  }
  return file;
}

/**
 * Whether it is a new file. Whoever looks at the folder sees the whole mail or none of it. It is flushed, because the
 * database will say "sent" for good: after the link, so that the name is kept with it. Eight at once hide the wait.
 */
async function writeWhole(folder: string, name: string, content: Buffer): Promise<boolean> {
  const draft = join(folder, `.${randomUUID()}.draft`);
  // Mail is nobody else's business.
  const file = await open(draft, 'wx', 0o600);
  try {
    await file.writeFile(content);
    const isNew = await place(draft, join(folder, name));
    await file.sync();
    return isNew;
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  } finally {
    await file.close();
  }
}

/** A link fails if the name is taken, and so tells of two who send the same mail at once which of them was first. */
async function place(draft: string, path: string): Promise<boolean> {
  try {
    await link(draft, path);
  } catch (error) {
    // It is replaced. On a disk without links, which cannot tell, it counts as new.
    await rename(draft, path);
    return !(error instanceof Error && 'code' in error && error.code === 'EEXIST');
  }
  await unlink(draft);
  return true;
}
