export interface ReceivedMail {
  /** By lower-case name, unfolded. */
  headers: Map<string, string>;
  text: string;
  recipients: readonly string[];
}

/** Reads a mail of one text part as RFC 5322 has it, knowing nothing of the code that wrote it. */
export function parseMail(content: Buffer, recipients: readonly string[] = []): ReceivedMail {
  const source = content.toString('latin1');
  if (/(?<!\r)\n|\r(?!\n)/.test(source)) throw new Error('a line does not end with CRLF');
  const end = source.indexOf('\r\n\r\n');
  if (end < 0) throw new Error('the mail has no body');
  const lines = source
    .slice(0, end)
    .replaceAll(/\r\n[ \t]+/g, ' ')
    .split('\r\n');
  const headers = new Map<string, string>();
  for (const line of lines) {
    const [, name = '', value = ''] = /^([A-Za-z-]+): (.*)$/.exec(line) ?? [];
    if (!name || headers.has(name.toLowerCase())) throw new Error(`not a header, or one twice: ${line}`);
    headers.set(name.toLowerCase(), value);
  }
  return { headers, text: decode(source.slice(end + 4), headers.get('content-transfer-encoding')), recipients };
}

function decode(body: string, encoding: string | undefined): string {
  if (encoding === 'base64') return Buffer.from(body, 'base64').toString('utf8').replaceAll('\r\n', '\n');
  const bytes =
    encoding === 'quoted-printable'
      ? body
          .replaceAll('=\r\n', '')
          .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
      : body;
  return Buffer.from(bytes, 'latin1').toString('utf8').replaceAll('\r\n', '\n');
}
