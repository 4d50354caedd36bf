import type { ApiParts } from '../../../src/api/api-env.ts';
import { createRegistry, operations } from '../../../src/processors/registry.ts';

/** The parts of an app that is looked at, or asked for nothing but what is given. Without a password, the pages for administrators are off. */
export function standInParts(given: Partial<Record<keyof ApiParts, unknown>> = {}): ApiParts {
  const unused: unknown = new Proxy(() => unused, { get: () => unused });
  const known = { registry: createRegistry(operations), adminLogin: { password: undefined }, ...given };
  return new Proxy(known as unknown as ApiParts, { get: (all, name) => Reflect.get(all, name) ?? unused });
}
