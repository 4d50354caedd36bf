import { randomUUID } from 'node:crypto';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { composeMail } from './compose-mail.ts';
import { MailError } from './mail-error.ts';
import type { MailTransport } from './mail-transport.ts';

/** Keeps each mail as a file. It is named by the Message-ID, so that a mail sent again is still one file. */
export function openCaptureTransport(folder: string): MailTransport {
  return {
    send: async (message) => {
      const { content } = await composeMail(message);
      const name = `${message.messageId.slice(1, -1)}.eml`;
      try {
        await mkdir(folder, { recursive: true, mode: 0o700 });
        await writeWhole(folder, name, content);
      } catch (error) {
        throw new MailError('not_sent', `the mail was not written: ${error instanceof Error ? error.message : error}`);
      }
      return { externalId: name };
    },
  };
}

/** Whoever looks at the folder sees the whole mail or none of it. Mail is nobody else's business: mode 0600. */
async function writeWhole(folder: string, name: string, content: Buffer): Promise<void> {
  const draft = join(folder, `.${randomUUID()}.draft`);
  try {
    await writeFile(draft, content, { mode: 0o600, flag: 'wx', flush: true });
    await rename(draft, join(folder, name));
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}
