import { html } from 'hono/html';
import type { JsonSchema } from '../openapi/json-schema.ts';
import type { Markup } from '../pages/render-page.ts';
import { renderInline } from './markdown.ts';

interface Field {
  name: string;
  schema: JsonSchema;
  required: boolean;
  description?: string | undefined;
}

/** The fields of an object, or the parameters of a request, as a list. */
export function renderFields(fields: readonly Field[]): Markup {
  return html`<dl class="fields">${fields.map(renderField)}</dl>`;
}

export function fieldsOf(schema: JsonSchema): Field[] {
  const required = (schema.required ?? []) as string[];
  return Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>).map(([name, property]) => ({
    name,
    schema: property,
    required: required.includes(name),
  }));
}

function renderField({ name, schema, required, description = textOf(schema.description) }: Field): Markup {
  const nested = fieldsOf(itemOf(schema));
  return html`<div><dt><code>${name}</code><span class="kind">${renderKind(schema)}</span>${
    required ? html`<span class="must">required</span>` : ''
  }</dt>${description === undefined ? '' : html`<dd>${renderInline(description)}</dd>`}${
    nested.length > 0 ? html`<dd>${renderFields(nested)}</dd>` : ''
  }</div>`;
}

/** What kind of value it is, in a few words. */
export function renderKind(schema: JsonSchema): Markup {
  const { type, format, $ref, items, anyOf } = schema;
  if (typeof $ref === 'string') return linkToSchema($ref);
  if (Array.isArray(anyOf) && anyOf.every((option) => !('pattern' in option))) {
    return html`${anyOf.map((option, index) => html`${index > 0 ? ' or ' : ''}${renderKind(option)}`)}`;
  }
  if (type === 'array') return html`list of ${renderKind((items ?? {}) as JsonSchema)}`;
  const values = valuesOf(schema);
  if (values.length > 0)
    return html`${values.map((value, index) => html`${index > 0 ? ' · ' : ''}<code>${value}</code>`)}`;
  const name = (Array.isArray(type) ? type.join(' or ') : textOf(type)) ?? 'any value';
  return html`${[name, textOf(format), limitsOf(schema)].filter(Boolean).join(', ')}`;
}

export function linkToSchema(ref: string): Markup {
  const name = ref.slice(ref.lastIndexOf('/') + 1);
  return html`<a href="#schema-${name}">${name}</a>`;
}

function valuesOf(schema: JsonSchema): string[] {
  const values = 'const' in schema ? [schema.const] : ((schema.enum ?? []) as unknown[]);
  return values.map(String);
}

/** Beyond this, a limit is that of JSON's numbers and says nothing. */
const largest = Number.MAX_SAFE_INTEGER;

function limitsOf(schema: JsonSchema): string | undefined {
  const { minimum, maximum, minLength, maxLength, minItems } = schema as Record<string, number | undefined>;
  const bound = (value: number | undefined) => (value !== undefined && Math.abs(value) < largest ? value : undefined);
  const [low, high] = [bound(minimum), bound(maximum)];
  const limits = [
    low !== undefined && high !== undefined ? `${low} to ${high}` : undefined,
    low !== undefined && high === undefined ? `at least ${low}` : undefined,
    low === undefined && high !== undefined ? `at most ${high}` : undefined,
    maxLength !== undefined
      ? `${minLength === undefined ? 'up to' : `${minLength} to`} ${maxLength} characters`
      : undefined,
    minItems !== undefined ? `at least ${minItems}` : undefined,
    schema.default !== undefined ? `default ${JSON.stringify(schema.default)}` : undefined,
  ];
  const given = limits.filter((limit) => limit !== undefined);
  return given.length > 0 ? given.join(', ') : undefined;
}

/** An object of its own inside a field is shown with it; one with a name has its own place. */
function itemOf(schema: JsonSchema): JsonSchema {
  const options = (schema.anyOf ?? []) as JsonSchema[];
  const inner = (schema.items as JsonSchema | undefined) ?? options.find(({ type }) => type === 'object') ?? schema;
  return '$ref' in inner ? {} : inner;
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
