import { z } from 'zod';
import type { AnyOperation } from '../../src/processors/define-operation.ts';

interface JsonSchema {
  type?: string | string[];
  anyOf?: JsonSchema[];
  properties?: Record<string, JsonSchema>;
  required?: string[];
}

/** What a cell may become: the names are those of JSON Schema. */
export type FieldTypes = ReadonlySet<string>;

export interface RequestFields {
  readonly types: ReadonlyMap<string, FieldTypes>;
  readonly required: readonly string[];
}

/** The fields of an operation's request with their types, from the schema that validates it. */
export function fieldsOf(operation: AnyOperation): RequestFields {
  const schema = z.toJSONSchema(operation.request, { io: 'input', unrepresentable: 'any' }) as JsonSchema;
  const types = Object.entries(schema.properties ?? {}).map(([name, field]): [string, FieldTypes] => [
    name,
    new Set(typesOf(field)),
  ]);
  return { types: new Map(types), required: schema.required ?? [] };
}

function typesOf({ type = [], anyOf = [] }: JsonSchema): string[] {
  return [...(Array.isArray(type) ? type : [type]), ...anyOf.flatMap(typesOf)];
}

const plainNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/;

/**
 * The value of a cell, by what the field may be. An empty cell is a field that is left out. What does not look like its
 * type stays text, and the service says what it thinks of it: nothing is guessed.
 */
export function toValue(cell: string, types: FieldTypes | undefined): unknown {
  if (cell === '') return undefined;
  if (!types) return cell;
  const trimmed = cell.trim();
  if ((types.has('integer') || types.has('number')) && plainNumber.test(trimmed)) {
    const value = Number(trimmed);
    return Number.isInteger(value) && !Number.isSafeInteger(value) ? cell : value;
  }
  if (types.has('boolean') && /^(?:true|false)$/i.test(trimmed)) return trimmed.toLowerCase() === 'true';
  if ((types.has('object') && trimmed.startsWith('{')) || (types.has('array') && trimmed.startsWith('['))) {
    return parseOrKeep(cell);
  }
  return cell;
}

function parseOrKeep(cell: string): unknown {
  try {
    return JSON.parse(cell);
  } catch {
    return cell;
  }
}
