import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import type { AnyOperation } from '../../src/processors/define-operation.ts';
import { CsvError } from '../../src/processors/mailings/csv/csv-error.ts';
import { headBytes, inspectTable } from '../../src/processors/mailings/csv/inspect-head.ts';
import { StartError } from '../start/start-error.ts';
import type { BulkOptions } from './options.ts';
import { planColumns, readCsv } from './read-csv.ts';
import { readNdjson } from './read-ndjson.ts';
import { fieldsOf } from './request-fields.ts';
import type { RowSource } from './row.ts';

/** Looks at a file before anything is sent: whether it can be read, and whether its columns fit the operation. */
export async function openFile(options: BulkOptions, operation: AnyOperation): Promise<RowSource> {
  const { file, keyColumn, ignored } = options;
  const { head, size } = await readHead(file);
  const plan = { operation: operation.name, fields: fieldsOf(operation), keyColumn, ignored };
  let readBytes = 0;
  const content = async function* () {
    for await (const chunk of createReadStream(file)) {
      readBytes += (chunk as Buffer).length;
      yield chunk as Buffer;
    }
  };
  const about = { totalBytes: size, readBytes: () => readBytes };
  if (/\.(?:ndjson|jsonl)$/i.test(file)) {
    return { ...about, format: 'ndjson', columns: [], delimiter: '', rows: readNdjson(content(), plan) };
  }
  try {
    const format = inspectTable(head, head.length === size);
    const toRow = planColumns(format, plan);
    const { columns, delimiter } = format;
    return { ...about, format: 'csv', columns, delimiter, rows: readCsv(content(), format, toRow) };
  } catch (error) {
    throw error instanceof CsvError ? new StartError(`${file}: ${error.message}`) : error;
  }
}

async function readHead(file: string): Promise<{ head: Buffer; size: number }> {
  try {
    const handle = await open(file);
    try {
      const { size } = await handle.stat();
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(headBytes), 0, headBytes, 0);
      return { head: buffer.subarray(0, bytesRead), size };
    } finally {
      await handle.close();
    }
  } catch (error) {
    throw new StartError(`The file cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}
