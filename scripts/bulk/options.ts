import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { StartError } from '../start/start-error.ts';

export interface BulkOptions {
  readonly file: string;
  readonly operation: string;
  /** The column whose cells are the keys. */
  readonly keyColumn: string | undefined;
  /** Columns that are no fields of the request. */
  readonly ignored: readonly string[];
  readonly url: string | undefined;
  readonly clientId: string | undefined;
  /** Requests at a time. */
  readonly concurrency: number;
  readonly isDryRun: boolean;
  /** How long nothing may be taken before we give up. */
  readonly patienceMs: number;
}

export const help = `Sends each row of a file as an operation, once.

Usage: npm run bulk -- FILE --operation NAME [options]

FILE is CSV, whose header names the fields of the request, or NDJSON (.ndjson, .jsonl), whose lines are the requests
themselves or {"key": …, "request": …}.

  --operation NAME    what to do with each row, e.g. transfer.create
  --key COLUMN        the column whose cell is the idempotency key of the row; without it, the key is made of the
                      row's content, so that the same row is the same operation, in this file or in a corrected one
  --ignore COLUMN     leave a column out of the requests; may be given more than once
  --url URL           where Semel is; else the one that npm start runs, else HOST and PORT
  --client-id NAME    send as a sub-client (X-Client-ID)
  --concurrency N     requests at a time, 1 to 32; 3 unless given
  --patience SECONDS  give up after nothing could be sent for this long; 300 unless given
  --dry-run           check every row here and send nothing
  --help              this text

The API key is taken from SEMEL_API_KEY, else from credentials.json in SEMEL_DATA_DIR (.semel).

Interrupted, or run again with a corrected file, it repeats nothing: the service knows the keys. Rows that were refused are
written to a file beside it, rents.refused.csv for rents.csv, with line and reason; correct them there and send that file.
The exit code is 0 only if every row was taken.

  npm run bulk -- rents.csv --operation transfer.create
  npm run bulk -- rents.csv --operation transfer.create --key invoice --dry-run
  npm run bulk -- customers.ndjson --operation customer.create --url https://semel.example --client-id shop-7`;

/** What was asked for; undefined means: to be told how to ask. Paths are from where the person typed them. */
export function readOptions(args: string[], environment: NodeJS.ProcessEnv): BulkOptions | undefined {
  const { values, positionals } = parse(args);
  if (values.help) return undefined;
  const [file, ...rest] = positionals;
  if (file === undefined) throw wrong('name the file.');
  if (rest.length > 0) throw wrong(`one file at a time, not ${positionals.join(' ')}.`);
  if (values.operation === undefined) throw wrong('say what to do with the rows: --operation NAME.');
  return {
    // npm changes to the folder of the package and notes where it was called.
    file: resolve(environment.INIT_CWD ?? process.cwd(), file),
    operation: values.operation,
    keyColumn: values.key,
    ignored: values.ignore ?? [],
    url: values.url && readUrl(values.url),
    clientId: values['client-id'],
    concurrency: readNumber('--concurrency', values.concurrency, 32),
    isDryRun: values['dry-run'],
    patienceMs: readNumber('--patience', values.patience, 86_400) * 1_000,
  };
}

function parse(args: string[]) {
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: {
        operation: { type: 'string' },
        key: { type: 'string' },
        ignore: { type: 'string', multiple: true },
        url: { type: 'string' },
        'client-id': { type: 'string' },
        concurrency: { type: 'string', default: '3' },
        patience: { type: 'string', default: '300' },
        'dry-run': { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    });
  } catch (error) {
    throw wrong(error instanceof Error ? error.message : String(error));
  }
}

function readUrl(text: string): string {
  const protocol = URL.canParse(text) ? new URL(text).protocol : '';
  if (!/^https?:$/.test(protocol))
    throw wrong('--url must be the address of a service, such as http://127.0.0.1:3000.');
  return text.replace(/\/+$/, '');
}

function readNumber(name: string, text: string, max: number): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1 || value > max) {
    throw wrong(`${name} must be a whole number from 1 to ${max}.`);
  }
  return value;
}

function wrong(sentence: string): StartError {
  return new StartError(`${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}\nSee npm run bulk -- --help`);
}
