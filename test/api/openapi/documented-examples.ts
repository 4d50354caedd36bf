import type { OpenApiDocument, OpenApiOperation } from '../../../src/api/openapi/document.ts';
import type { JsonSchema } from '../../../src/api/openapi/json-schema.ts';

/** A request of the document, with what it says of the answer. */
export interface Step {
  /** The route and the name of the example. */
  name: string;
  route: string;
  method: string;
  path: string;
  query: Record<string, string>;
  headers: Record<string, string>;
  body: unknown;
  answer: { status: number; type: string | undefined; body: unknown };
}

type Examples = Record<string, { value: unknown }>;
type Content = Record<string, { examples?: Examples }>;

/** All examples, in the order of the document. Those of one name belong together, wherever they stand. */
export function stepsOf(document: OpenApiDocument): Step[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).flatMap(([method, operation]) => {
      const titles = titlesOf(operation);
      return titles.map((title) => readStep({ method: method.toUpperCase(), path, operation }, title));
    }),
  );
}

function titlesOf(operation: OpenApiOperation): string[] {
  const found = new Set<string>();
  const collect = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    const { examples } = node as { examples?: Examples };
    if (examples && !Array.isArray(examples)) for (const title of Object.keys(examples)) found.add(title);
    for (const [name, child] of Object.entries(node)) if (name !== 'schema') collect(child);
  };
  collect(operation);
  // What has nothing to show can still be asked.
  return found.size > 0 ? [...found] : [''];
}

function readStep(route: { method: string; path: string; operation: OpenApiOperation }, title: string): Step {
  const { method, operation } = route;
  const parameters = { path: {}, query: {}, header: {} } as Record<string, Record<string, string>>;
  for (const parameter of operation.parameters as { name: string; in: string; examples?: Examples }[]) {
    const given = parameter.examples?.[title]?.value;
    const place = parameters[parameter.in];
    if (given !== undefined && place) place[parameter.name] = String(given);
  }
  const contents = (operation.requestBody?.content ?? {}) as Content;
  const [type, content] = Object.entries(contents).find(([, { examples }]) => examples?.[title]) ?? [];
  const answer = readAnswer(operation, title);
  const name = `${method} ${route.path}`;
  return {
    name: title ? `${name}, ${title}` : name,
    route: name,
    method,
    path: route.path.replaceAll(/\{(\w+)\}/g, (_, part) => encodeURIComponent(parameters.path?.[part] ?? `{${part}}`)),
    query: parameters.query ?? {},
    headers: {
      ...parameters.header,
      ...(type !== undefined && { 'content-type': type }),
      ...(answer.type !== undefined && { accept: answer.type }),
    },
    body: content?.examples?.[title]?.value,
    answer,
  };
}

function readAnswer({ responses }: OpenApiOperation, title: string): Step['answer'] {
  const successes = Object.entries(responses).filter(([status]) => status.startsWith('2'));
  for (const [status, { content }] of successes as [string, { content?: Content }][]) {
    for (const [type, { examples }] of Object.entries(content ?? {})) {
      if (examples?.[title]) return { status: Number(status), type, body: examples[title].value };
    }
  }
  const [status, response] = successes[0] ?? ['0', {}];
  const [type] = Object.keys((response as JsonSchema).content ?? {});
  return { status: Number(status), type, body: undefined };
}

/** The codes of the problems that each route is said to give. */
export function codesByRoute(document: OpenApiDocument): Map<string, Set<string>> {
  const routes = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, { responses }]): [string, Set<string>] => {
      const codes = Object.values(responses).flatMap(({ $ref }) => {
        const response = document.components.responses?.[String($ref).replace('#/components/responses/', '')];
        const content = response?.content as Record<string, { examples: Examples }> | undefined;
        return Object.keys(content?.['application/problem+json']?.examples ?? {});
      });
      return [`${method.toUpperCase()} ${path}`, new Set(codes)];
    }),
  );
  return new Map(routes);
}
