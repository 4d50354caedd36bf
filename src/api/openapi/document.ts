import { z } from 'zod';
import type { Registry } from '../../processors/registry.ts';
import { describeApi, version } from './describe-api.ts';
import { keyParameter, type RequestHeader, refsToHeaders, requestHeaders, responseHeaders } from './headers.ts';
import { type JsonSchema, SchemaWriter } from './json-schema.ts';
import { describeByName } from './operation-docs.ts';
import { codesOf, problemResponses, problemSchema } from './problems.ts';
import { type AnswerDocs, accessOf, type RouteDocs, type RouteGroup } from './route-docs.ts';
import { routeGroups } from './routes.ts';

export interface OpenApiDocument {
  openapi: string;
  info: JsonSchema;
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, OpenApiOperation>>;
  components: Record<string, Record<string, JsonSchema>>;
}

export interface OpenApiOperation {
  operationId: string;
  tags: string[];
  summary: string;
  description?: string;
  parameters: JsonSchema[];
  requestBody?: JsonSchema;
  responses: Record<string, JsonSchema>;
  security: Record<string, string[]>[];
}

const idParameter = z.guid();

/** The description of the API in OpenAPI 3.1, from what is known of the routes and of the registered operations. */
export function createDocument(registry: Registry): OpenApiDocument {
  const groups: RouteGroup[] = [...routeGroups, describeByName(registry, routeGroups)];
  const schemas = new SchemaWriter();
  schemas.response(problemSchema);
  const responses: Record<string, JsonSchema> = {};
  const paths: OpenApiDocument['paths'] = {};
  for (const { tag, routes } of groups) {
    for (const [name, docs] of Object.entries(routes)) {
      const [method = '', path = ''] = name.split(' ');
      const item = paths[path] ?? {};
      paths[path] = item;
      item[method.toLowerCase()] = writeOperation({ tag, method, path, docs }, schemas, responses);
    }
  }
  return {
    openapi: '3.1.1',
    info: { title: 'Semel', version, summary: 'Runs operations with side effects once.', description: describeApi() },
    ...{ servers: [{ url: '/', description: 'Where this document comes from' }] },
    tags: groups.map(({ tag, description }) => ({ name: tag, description })),
    paths,
    components: {
      schemas: schemas.components,
      responses,
      parameters: Object.fromEntries(
        (Object.keys(requestHeaders) as RequestHeader[]).map((name) => [name, parameterOf(name)]),
      ),
      headers: responseHeaders,
      securitySchemes: {
        apiKey: {
          type: 'http',
          scheme: 'bearer',
          description: 'An API key. Its scopes are `operate` and `admin`; an admin may do all that operate may.',
        },
      },
    },
  };
}

interface Route {
  tag: string;
  method: string;
  path: string;
  docs: RouteDocs;
}

function writeOperation(route: Route, schemas: SchemaWriter, components: Record<string, JsonSchema>): OpenApiOperation {
  const { tag, method, path, docs } = route;
  const access = accessOf(path, docs);
  const requestBody = writeBody(docs, schemas);
  return {
    operationId: operationIdOf(method, path),
    tags: [tag],
    summary: docs.summary,
    ...(docs.description !== undefined && { description: docs.description }),
    parameters: [...writePath(path, docs, schemas), ...writeQuery(docs, schemas), ...writeHeaders(docs, access)],
    ...(requestBody && { requestBody }),
    responses: { ...writeAnswers(docs, schemas), ...problemResponses(codesOf(path, docs), components) },
    security: access === 'public' ? [] : [{ apiKey: [access] }, ...(docs.isOpenToItself ? [{}] : [])],
  };
}

/** `POST /v1/proposals/{id}/submit` is `post-v1-proposals-id-submit`: also the anchor of its place on the page. */
export function operationIdOf(method: string, path: string): string {
  return `${method.toLowerCase()}${path.replaceAll(/[^A-Za-z0-9.]+/g, '-').replace(/-$/, '')}`;
}

function writePath(path: string, docs: RouteDocs, schemas: SchemaWriter): JsonSchema[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => {
    const schema = docs.path?.[name] ?? (name === 'id' ? idParameter : undefined);
    if (!schema) throw new Error(`{${name}} of ${path} is not described`);
    const { description, ...written } = schemas.request(schema);
    return {
      name,
      in: 'path',
      required: true,
      schema: written,
      ...withExamples(docs, 'path', name),
      ...(description !== undefined && { description }),
    };
  });
}

function writeQuery({ query, ...docs }: RouteDocs, schemas: SchemaWriter): JsonSchema[] {
  if (!query) return [];
  const { properties = {}, required = [] } = schemas.request(query) as {
    properties?: Record<string, JsonSchema>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, { description, ...schema }]) => {
    const isRequired = required.includes(name);
    return {
      name,
      in: 'query',
      required: isRequired,
      schema,
      ...withExamples(docs, 'query', name),
      ...(description !== undefined && { description }),
    };
  });
}

function withExamples(
  docs: Pick<RouteDocs, 'examples'>,
  place: 'path' | 'query' | 'headers',
  name: string,
): JsonSchema {
  const given = Object.entries(docs.examples).flatMap(([title, example]) => {
    const value = example[place]?.[name.toLowerCase()] ?? example[place]?.[name];
    return value === undefined ? [] : [[title, { value: /^\d{1,9}$/.test(value) ? Number(value) : value }]];
  });
  return given.length > 0 ? { examples: Object.fromEntries(given) } : {};
}

function writeHeaders(docs: RouteDocs, access: string): JsonSchema[] {
  const shared: RequestHeader[] = access === 'public' ? ['X-Request-Id'] : ['X-Client-ID', 'X-Request-Id'];
  const names: RequestHeader[] = docs.takesPrefer ? ['Prefer', ...shared] : shared;
  const written = names.map((name) => {
    // One with examples of this route cannot be the one that all routes share.
    const examples = withExamples(docs, 'headers', name);
    const isShared = Object.keys(examples).length === 0;
    return isShared ? { $ref: `#/components/parameters/${name}` } : { ...parameterOf(name), ...examples };
  });
  if (!docs.key) return written;
  return [{ ...keyParameter(docs.key), ...withExamples(docs, 'headers', 'Idempotency-Key') }, ...written];
}

const parameterOf = (name: RequestHeader): JsonSchema => ({ name, in: 'header', ...requestHeaders[name] });

function writeBody(docs: RouteDocs, schemas: SchemaWriter): JsonSchema | undefined {
  const content: Record<string, JsonSchema> = {};
  const examples = Object.entries(docs.examples).filter(([, { body }]) => body !== undefined);
  const of = (type: string) =>
    examples
      .filter(([, { headers, body }]) =>
        (headers?.['content-type'] ?? (typeof body === 'string' ? '' : 'application/json')).startsWith(type),
      )
      .map(([name, { body }]) => [name, { value: body }]);
  const add = (type: string, schema: JsonSchema) => {
    const given = of(type);
    content[type] = { schema, ...(given.length > 0 && { examples: Object.fromEntries(given) }) };
  };
  if (docs.body) add('application/json', withoutFields(schemas.request(docs.body), docs.fromPath ?? []));
  for (const [type, schema] of Object.entries(docs.otherBodies ?? {})) add(type, schemas.request(schema));
  return Object.keys(content).length > 0 ? { required: docs.bodyIsOptional !== true, content } : undefined;
}

/** The body of a route whose path gives some of the fields. */
function withoutFields(schema: JsonSchema, fields: readonly string[]): JsonSchema {
  if (fields.length === 0) return schema;
  const { properties = {}, required = [], ...rest } = schema as { properties?: JsonSchema; required?: string[] };
  const kept = Object.entries(properties).filter(([name]) => !fields.includes(name));
  return { ...rest, properties: Object.fromEntries(kept), required: required.filter((name) => !fields.includes(name)) };
}

function writeAnswers(docs: RouteDocs, schemas: SchemaWriter): Record<string, JsonSchema> {
  const written = Object.entries(docs.answers).map(([status, answer]) => {
    const content = writeContent(Number(status), answer, docs, schemas);
    const headers = refsToHeaders(answer.headers ?? []);
    return [status, { description: answer.description, headers, ...(content && { content }) }];
  });
  return Object.fromEntries(written);
}

function writeContent(
  status: number,
  answer: AnswerDocs,
  docs: RouteDocs,
  schemas: SchemaWriter,
): JsonSchema | undefined {
  const types = { ...(answer.body && { 'application/json': answer.body }), ...answer.otherTypes };
  const content = Object.entries(types).map(([type, schema]) => {
    const given = Object.entries(docs.examples)
      .filter(([, example]) => example.answer.status === status && (example.answer.type ?? 'application/json') === type)
      .filter(([, example]) => example.answer.body !== undefined)
      .map(([name, example]) => [name, { value: example.answer.body }]);
    return [
      type,
      { schema: schemas.response(schema), ...(given.length > 0 && { examples: Object.fromEntries(given) }) },
    ];
  });
  return content.length > 0 ? Object.fromEntries(content) : undefined;
}
