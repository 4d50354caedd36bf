import { z } from 'zod';
import type { ErrorCode } from '../../errors.ts';
import type { AnyOperation } from '../../processors/define-operation.ts';
import type { Registry } from '../../processors/registry.ts';
import { operationSchema } from '../operation-view.ts';
import { operationHeaders, type ResponseHeader } from './headers.ts';
import type { ExampleDocs, RouteDocs, RouteGroup, RouteName } from './route-docs.ts';

/** Which field of the request the path gives, and by which name. */
type FromPath = Record<string, string>;

interface OperationRouteDocs extends Pick<RouteDocs, 'summary' | 'description' | 'examples'> {
  fromPath?: FromPath;
}

/** A route that runs an operation: nearly all there is to say of it follows from the operation. */
export function runs(operation: AnyOperation, docs: OperationRouteDocs): RouteDocs & { fields: FromPath } {
  const { fromPath = {}, ...words } = docs;
  const { success = { status: 200, body: z.unknown() }, key } = operation;
  const mismatch: ResponseHeader[] = operation.onMismatch === 'replay' ? ['Idempotency-Mismatch'] : [];
  const headers = [...operationHeaders, ...mismatch];
  return {
    ...words,
    operation,
    key,
    takesPrefer: true,
    body: operation.request,
    fromPath: Object.keys(fromPath),
    fields: fromPath,
    answers: {
      [success.status]: { description: 'Done, now or when the key was first sent.', body: success.body, headers },
      202: {
        description: 'Accepted and safe; the result is not there yet.',
        body: operationSchema,
        headers: ['Location', ...headers],
      },
    },
    problems: problemsOf(operation),
    storedProblems: [...(operation.rejects ?? []), 'OPERATION_FAILED', 'OUTCOME_UNKNOWN'],
  };
}

function problemsOf(operation: AnyOperation): ErrorCode[] {
  const mismatch: ErrorCode[] = operation.onMismatch === 'reject' ? ['INCONSISTENT_REQUEST'] : [];
  return ['OPERATION_IN_PROGRESS', ...mismatch, ...(operation.admitRejects ?? [])];
}

/** Every registered operation by its name. Where a resource has a route for it, the example is that one, sent again. */
export function describeByName(registry: Registry, groups: readonly RouteGroup[]): RouteGroup {
  const resourceRoutes = groups.flatMap((group) => Object.entries(group.routes));
  const routes = [...registry.values()].map((operation): [RouteName, RouteDocs] => {
    const [name, resource] = resourceRoutes.find(([, docs]) => docs.operation === operation) ?? [];
    const description = name
      ? `The same as \`${name}\`, under the same keys: the example is a request that was answered there.`
      : 'An operation of your own.';
    const examples = resource ? toExamplesByName(resource) : {};
    return [
      `POST /v1/operations/${operation.name}`,
      runs(operation, { summary: operation.name, description, examples }),
    ];
  });
  return {
    tag: 'Operations by name',
    description: 'Each registered operation can be called by its name, whether a resource has a route for it or not.',
    routes: Object.fromEntries(routes),
  };
}

function toExamplesByName(resource: RouteDocs & { fields?: FromPath }): Record<string, ExampleDocs> {
  const fields = Object.entries(resource.fields ?? {});
  // What was accepted there is done by now, and would be answered otherwise.
  const done = Object.entries(resource.examples).filter(([, { answer }]) => answer.status !== 202);
  const named = done.map(([name, { path, body, ...example }]) => {
    const fromPath = Object.fromEntries(fields.map(([field, part]) => [field, path?.[part]]));
    return [name, { ...example, body: { ...fromPath, ...(body as object) } }];
  });
  return Object.fromEntries(named);
}
