import * as base64 from 'nodemailer/lib/base64';
import type MimeNode from 'nodemailer/lib/mime-node';
import * as quotedPrintable from 'nodemailer/lib/qp';

/**
 * The same as nodemailer's build(), whose parts it is made of. That one leads each part through four streams, which is
 * right for attachments and took as long as everything else about a mail of a few lines.
 */
export function writeMime(root: MimeNode): Buffer {
  const text = writeNode(root);
  return Buffer.from(text.endsWith('\r\n') ? text : `${text}\r\n`);
}

function writeNode(node: MimeNode): string {
  const headers = node.buildHeaders();
  // It is known only now, because building the headers decides it.
  const { boundary, childNodes } = node;
  if (!boundary) return `${headers}\r\n\r\n${encodeContent(node)}`;
  const parts = childNodes.map((child) => `--${boundary}\r\n${writeNode(child)}\r\n`);
  return `${headers}\r\n\r\n${parts.join('')}--${boundary}--\r\n`;
}

/** Its lines end with CRLF already. */
function encodeContent(node: MimeNode): string {
  const { content } = node;
  if (typeof content !== 'string') throw new Error('a part of a mail is not a text');
  const encoding = node.getTransferEncoding();
  if (encoding === 'base64') return base64.wrap(base64.encode(content));
  if (encoding === 'quoted-printable') return quotedPrintable.wrap(quotedPrintable.encode(content));
  return content;
}
