import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { expect } from 'vitest';
import type { OpenApiDocument, OpenApiOperation } from '../../src/api/openapi/document.ts';
import type { JsonSchema } from '../../src/api/openapi/json-schema.ts';

export interface CheckedAnswer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
}

interface ResponseDocs {
  headers?: Record<string, JsonSchema>;
  content?: Record<string, { schema: JsonSchema }>;
}

/** Holds answers against the description of the API, as somebody would who knows nothing else. */
export class AnswerCheck {
  readonly #document: OpenApiDocument;
  readonly #ajv: Ajv2020;
  readonly #validators = new Map<object, ValidateFunction>();
  readonly #templates: { pattern: RegExp; path: string }[];

  constructor(document: OpenApiDocument) {
    // The description lets fields be added later. Here, one that nobody described is one that nobody thought of.
    this.#document = closeObjects(document) as OpenApiDocument;
    this.#ajv = new Ajv2020({ strict: false, allErrors: true });
    addFormats.default(this.#ajv);
    // A digest: characters and no meaning of their own.
    this.#ajv.addFormat('hex', /^[0-9a-f]*$/);
    this.#ajv.addSchema({ $id: 'semel', components: this.#document.components });
    this.#templates = Object.keys(document.paths).map((path) => ({
      path,
      pattern: new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`),
    }));
  }

  /** The documented route that a request meets; names go before patterns. */
  find(method: string, target: string): { path: string; operation: OpenApiOperation } | undefined {
    const [pathname = ''] = target.split('?');
    const matches = this.#templates.filter(({ pattern }) => pattern.test(pathname));
    const path = (matches.find((match) => match.path === pathname) ?? matches[0])?.path;
    const operation = path === undefined ? undefined : this.#document.paths[path]?.[method.toLowerCase()];
    return path === undefined || !operation ? undefined : { path, operation };
  }

  /** What is wrong with an answer to a documented route; nothing if the route is not there at all. */
  faultsOf(method: string, target: string, answer: CheckedAnswer): string[] {
    const route = this.find(method, target);
    if (!route) return [];
    const response = this.#resolve(route.operation.responses[answer.status]) as ResponseDocs | undefined;
    if (!response) return [`${answer.status} is not documented`];
    const type = String(answer.headers['content-type'] ?? '').split(';')[0] ?? '';
    const faults = this.#headerFaults(response, answer);
    if (!response.content) return answer.text === '' ? faults : [...faults, 'a body is not documented'];
    const media = response.content[type];
    if (!media) return [...faults, `${type} is not documented`];
    const value = /[/+]json$/.test(type) ? JSON.parse(answer.text) : answer.text;
    return [...faults, ...this.faultsOfValue(media.schema, value)];
  }

  faultsOfValue(schema: JsonSchema, value: unknown): string[] {
    const known = this.#validators.get(schema);
    const validate = known ?? this.#ajv.compile(rebase(schema) as JsonSchema);
    this.#validators.set(schema, validate);
    if (validate(value)) return [];
    return (validate.errors ?? []).map(
      (error) => `${error.instancePath} ${error.message} ${JSON.stringify(error.params)}`,
    );
  }

  #headerFaults(response: ResponseDocs, answer: CheckedAnswer): string[] {
    return Object.entries(response.headers ?? {}).flatMap(([name, reference]) => {
      const header = this.#resolve(reference) as { required?: boolean; schema: JsonSchema };
      const value = answer.headers[name.toLowerCase()];
      if (value === undefined) return header.required ? [`${name} is missing`] : [];
      return this.faultsOfValue(header.schema, value).map((fault) => `${name}: ${fault}`);
    });
  }

  #resolve(value: unknown): unknown {
    const reference = (value as { $ref?: string } | undefined)?.$ref;
    if (reference === undefined) return value;
    return reference
      .slice(2)
      .split('/')
      .reduce<unknown>((node, name) => (node as Record<string, unknown>)[name], this.#document);
  }
}

/** Fails the test if an answer is not as documented. */
export function expectDocumented(check: AnswerCheck, method: string, target: string, answer: CheckedAnswer): void {
  expect(check.faultsOf(method, target, answer), `${method} ${target} → ${answer.status} ${answer.text}`).toEqual([]);
}

function closeObjects(node: unknown): unknown {
  return mapObjects(node, (object) => {
    const isOpen = object.type === 'object' && 'properties' in object && !('additionalProperties' in object);
    return isOpen ? { ...object, additionalProperties: false } : object;
  });
}

const rebase = (schema: JsonSchema): unknown =>
  mapObjects(schema, (object) =>
    typeof object.$ref === 'string' ? { ...object, $ref: object.$ref.replace(/^#/, 'semel#') } : object,
  );

function mapObjects(node: unknown, change: (object: Record<string, unknown>) => unknown): unknown {
  if (Array.isArray(node)) return node.map((item) => mapObjects(item, change));
  if (typeof node !== 'object' || node === null) return node;
  const mapped = Object.entries(node).map(([name, value]) => [name, mapObjects(value, change)]);
  return change(Object.fromEntries(mapped));
}
