export interface ReceivedMail {
  /** By lower-case name, unfolded. */
  headers: Map<string, string>;
  /** Empty if the mail has no text part. */
  text: string;
  html: string | undefined;
  recipients: readonly string[];
}

/** Reads a mail of one text or two alternatives as RFC 5322 has it, knowing nothing of the code that wrote it. */
export function parseMail(content: Buffer, recipients: readonly string[] = []): ReceivedMail {
  const source = content.toString('latin1');
  if (/(?<!\r)\n|\r(?!\n)/.test(source)) throw new Error('a line does not end with CRLF');
  const { headers, body } = parsePart(source);
  const type = headers.get('content-type') ?? '';
  const parts = type.startsWith('multipart/alternative') ? splitParts(body, type) : [{ headers, body }];
  const find = (wanted: string) => {
    const found = parts.filter((part) => part.headers.get('content-type')?.startsWith(wanted));
    if (found.length > 1) throw new Error(`${wanted} is there twice`);
    return found[0] && decode(found[0].body, found[0].headers.get('content-transfer-encoding'));
  };
  const [text, html] = [find('text/plain'), find('text/html')];
  if (parts.length !== [text, html].filter((part) => part !== undefined).length) throw new Error('an unknown part');
  return { headers, text: text ?? '', html, recipients };
}

interface Part {
  headers: Map<string, string>;
  body: string;
}

function parsePart(source: string): Part {
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
  return { headers, body: source.slice(end + 4) };
}

function splitParts(body: string, type: string): Part[] {
  const boundary = /;\s*boundary="?([^";]+)"?/.exec(type)?.[1];
  if (!boundary) throw new Error('a multipart mail without a boundary');
  const [before, ...parts] = `\r\n${body}`.split(`\r\n--${boundary}`);
  const after = parts.pop();
  if (before?.trim() || after?.trim() !== '--') throw new Error('the parts are not closed');
  return parts.map((part) => parsePart(part.replace(/^\r\n/, '')));
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
