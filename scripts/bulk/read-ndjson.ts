import { LineSplitter, type RawLine } from '../../src/api/bulk/line-splitter.ts';
import { maxBodyBytes, parseJson } from '../../src/api/read-json.ts';
import type { RequestFields } from './request-fields.ts';
import { isNoteColumn, type Row } from './row.ts';
import { deriveKey } from './row-key.ts';

export interface NdjsonPlan {
  readonly operation: string;
  readonly fields: RequestFields;
  readonly keyColumn: string | undefined;
  readonly ignored: readonly string[];
}

type JsonObject = Record<string, unknown>;

export async function* readNdjson(source: AsyncIterable<Uint8Array>, plan: NdjsonPlan): AsyncGenerator<Row[]> {
  const splitter = new LineSplitter(maxBodyBytes);
  for await (const chunk of source) yield splitter.push(Buffer.from(chunk)).map((line) => toRow(line, plan));
  yield splitter.end().map((line) => toRow(line, plan));
}

function toRow({ line, text, fault }: RawLine, plan: NdjsonPlan): Row {
  if (fault) return { line, source: text, fault: `The line is ${fault}.` };
  try {
    const value = parseJson(text, 'line');
    if (!isObject(value)) return { line, source: text, fault: 'The line is no JSON object.' };
    return { line, source: text, ...read(withoutNotes(value), plan) };
  } catch (error) {
    return { line, source: text, fault: error instanceof Error ? error.message : String(error) };
  }
}

function read(object: JsonObject, plan: NdjsonPlan): Pick<Row, 'key' | 'request' | 'fault'> {
  const { request, key: given } = isEnvelope(object) ? object : { request: object, key: undefined };
  if (isEnvelope(object) && object.operation !== undefined && object.operation !== plan.operation) {
    return { fault: `The line is for another operation, ${String(object.operation)}.` };
  }
  const fields = isObject(request) ? { ...request } : undefined;
  const named = plan.keyColumn === undefined ? given : (fields?.[plan.keyColumn] ?? given);
  for (const name of plan.ignored) delete fields?.[name];
  if (plan.keyColumn !== undefined && !plan.fields.types.has(plan.keyColumn)) delete fields?.[plan.keyColumn];
  const sent = fields ?? request;
  if (named === undefined || named === null) {
    if (plan.keyColumn !== undefined) return { request: sent, fault: `The field "${plan.keyColumn}" is missing.` };
    return { request: sent, key: deriveKey(plan.operation, sent) };
  }
  if (typeof named !== 'string' && typeof named !== 'number') return { request: sent, fault: 'The key is no text.' };
  return { request: sent, key: String(named) };
}

/** Something with a request in it, and nothing but what belongs to it; anything else is a request itself. */
function isEnvelope(object: JsonObject): boolean {
  return isObject(object.request) && Object.keys(object).every((name) => /^(?:operation|key|request)$/.test(name));
}

function withoutNotes(object: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([name]) => !isNoteColumn(name)));
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
