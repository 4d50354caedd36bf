import { inject } from 'vitest';
import { exampleIds } from '../../src/api/openapi/example-ids.ts';
import type { JsonSchema } from '../../src/api/openapi/json-schema.ts';
import type { Planted } from './planted-things.ts';

export interface Route {
  /** `GET /v1/accounts/{id}` */
  name: string;
  method: string;
  path: string;
  access: 'public' | 'operate' | 'admin';
  pathParameters: string[];
  query: { name: string; schema: JsonSchema }[];
  /** Of the JSON that it takes, if it takes any. */
  body: JsonSchema | undefined;
  /** The media types that it takes. */
  types: string[];
  /** A body that would be taken, with the ids of the document. */
  example: Record<string, unknown>;
}

interface Content {
  schema: JsonSchema;
  examples?: Record<string, { value: unknown }>;
}

/** All routes of the document, so that one which is added tomorrow is tried as well. */
export function listRoutes(): Route[] {
  const document = inject('openApi');
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]): Route => {
      const parameters = operation.parameters as { name: string; in: string; schema: JsonSchema }[];
      const content = (operation.requestBody?.content ?? {}) as Record<string, Content>;
      const json = content['application/json'];
      const [scope] = operation.security.flatMap(({ apiKey = [] }) => apiKey);
      return {
        name: `${method.toUpperCase()} ${path}`,
        method: method.toUpperCase(),
        path,
        access: scope === 'admin' || scope === 'operate' ? scope : 'public',
        pathParameters: parameters.filter((each) => each.in === 'path').map(({ name }) => name),
        query: parameters.filter((each) => each.in === 'query'),
        body: json && resolve(json.schema, document.components),
        types: Object.keys(content),
        example: (Object.values(json?.examples ?? {})[0]?.value ?? {}) as Record<string, unknown>,
      };
    }),
  );
}

/** Those that take JSON. */
export const listJsonRoutes = (): Route[] => listRoutes().filter(({ body }) => body !== undefined);

/** Those that show a page of many things. */
export const listLists = (): Route[] => listRoutes().filter(({ query }) => query.some(({ name }) => name === 'cursor'));

function resolve(schema: JsonSchema, components: Record<string, Record<string, JsonSchema>>): JsonSchema {
  const name = /^#\/components\/schemas\/(.+)$/.exec(String(schema.$ref ?? ''))?.[1];
  return name === undefined ? schema : (components.schemas?.[name] ?? schema);
}

/** A name of the document's story and whose part it plays. */
const parts: Partial<Record<keyof typeof exampleIds, keyof Planted>> = {
  adasAccount: 'account',
  gracesAccount: 'otherAccount',
  customer: 'customer',
  proposal: 'proposal',
  otherProposal: 'proposal',
  mailing: 'mailing',
};

/** The example body with the ids of real things. */
export function bodyOf(route: Route, planted: Planted): Record<string, unknown> {
  let text = JSON.stringify(route.example);
  for (const [name, part] of Object.entries(parts)) {
    text = text.replaceAll(exampleIds[name as keyof typeof exampleIds], planted[part]);
  }
  return JSON.parse(text);
}

/** The path with real ids in it: those of what the route is about. */
export function pathOf(route: Pick<Route, 'path'>, values: Record<string, string>): string {
  return route.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? `no-${name}`));
}

/** What `{id}` and the others stand for in a route. */
export function valuesOf(route: Pick<Route, 'path'>, planted: Planted): Record<string, string> {
  const [, resource = ''] = /^\/v1\/((?:admin\/)?[\w-]+)/.exec(route.path) ?? [];
  const part = partOfResource[resource];
  return { id: part ? planted[part] : '', email: planted.suppression, line: '2', token: 'A'.repeat(22) };
}

const partOfResource: Record<string, keyof Planted> = {
  accounts: 'account',
  transfers: 'transfer',
  customers: 'customer',
  proposals: 'proposal',
  mailings: 'mailing',
  webhooks: 'webhook',
  operations: 'operation',
  'admin/idempotency': 'operation',
  'admin/dead-letters': 'operation',
  'admin/api-keys': 'operation',
  'admin/invariants': 'operation',
};
