import { z } from 'zod';

export type JsonSchema = { [name: string]: unknown };

/** Formats that say all that zod's pattern says, and are readable. */
const tellingFormats = ['date-time', 'uuid'];

/**
 * Turns the schemas that validate into JSON Schema (draft 2020-12). Those with an id become components, which is where
 * the returned schema points to.
 */
export class SchemaWriter {
  readonly components: Record<string, JsonSchema> = {};
  /** Many routes speak of the same things. */
  readonly #known = { input: new Map<z.ZodType, JsonSchema>(), output: new Map<z.ZodType, JsonSchema>() };

  /** What a client may send. */
  request(schema: z.ZodType): JsonSchema {
    return this.#convert(schema, 'input');
  }

  /** What a client gets. Fields may be added later, so it is told of none that they are the last. */
  response(schema: z.ZodType): JsonSchema {
    return this.#convert(schema, 'output');
  }

  #convert(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
    const known = this.#known[io].get(schema);
    if (known) return known;
    const {
      $schema: _,
      $defs,
      ...converted
    } = z.toJSONSchema(schema, {
      io,
      override: ({ jsonSchema }) => tidy(jsonSchema as JsonSchema, io),
    }) as JsonSchema;
    for (const [id, component] of Object.entries(($defs ?? {}) as Record<string, JsonSchema>)) {
      this.components[id] = pointToComponents(component) as JsonSchema;
    }
    const pointing = pointToComponents(converted) as JsonSchema;
    this.#known[io].set(schema, pointing);
    return pointing;
  }
}

function tidy(schema: JsonSchema, io: 'input' | 'output'): void {
  const { documentedAs, description } = schema;
  if (documentedAs) {
    // A text of the query that becomes a number: what a client needs to know is the number.
    for (const name of Object.keys(schema)) delete schema[name];
    Object.assign(schema, documentedAs, description === undefined ? {} : { description });
  }
  if (tellingFormats.includes(String(schema.format))) delete schema.pattern;
  if (io === 'output' && schema.additionalProperties === false) delete schema.additionalProperties;
  delete schema.id;
}

function pointToComponents(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(pointToComponents);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => {
      const isRef = name === '$ref' && typeof item === 'string';
      return [name, isRef ? item.replace('#/$defs/', '#/components/schemas/') : pointToComponents(item)];
    }),
  );
}
