import { type DestinationStream, type Logger, type LoggerOptions, pino } from 'pino';

/** What helps to understand an error besides its words. Everything else of it stays out of the log. */
const toldOfErrors = [
  ...['type', 'message', 'stack', 'code', 'errno', 'syscall', 'address', 'port'],
  ...['table', 'constraint', 'stage', 'outcome', 'responseCode'],
];

/**
 * The log. Libraries hang what they were given on their errors: a refused login of Redis carries the password, a row
 * that is there already its values. So an error is told by a few of its fields and not by all of them.
 */
export function createLog(level: LoggerOptions['level'] & string, destination: DestinationStream): Logger {
  return pino({ level, serializers: { err: describeError } }, destination);
}

/** Causes are in the message and the stack. */
export function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const told = Object.entries(pino.stdSerializers.err(error)).filter(([name]) => toldOfErrors.includes(name));
  const errors = error instanceof AggregateError ? error.errors.map(describeError) : [];
  return { ...Object.fromEntries(told), ...(errors.length > 0 && { errors }) };
}
