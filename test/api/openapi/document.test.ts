import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, it } from 'vitest';
import { createApp } from '../../../src/api/app.ts';
import { createDocument, type OpenApiOperation } from '../../../src/api/openapi/document.ts';
import type { JsonSchema } from '../../../src/api/openapi/json-schema.ts';
import { errorCodes } from '../../../src/errors.ts';
import { createRegistry, operations } from '../../../src/processors/registry.ts';
import { createTransfer } from '../../../src/processors/transfers/create-transfer.ts';
import { AnswerCheck } from '../../support/answer-check.ts';
import { readText } from '../../support/sources.ts';
import { standInParts } from './stand-in-parts.ts';

const registry = createRegistry(operations);
const document = createDocument(registry);
const described = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => ({ name: `${method.toUpperCase()} ${path}`, operation })),
);

/** Pages of their own, made of many small routes, which are no part of the API. */
const elsewhere = /^\/(queues|console)(\/|$)/;

describe('the document', () => {
  it('is valid OpenAPI 3.1 for a validator that is not ours', async () => {
    const validator = new Validator();
    expect(await validator.validate(structuredClone(document) as unknown as JsonSchema)).toEqual({ valid: true });
    expect(validator.version).toBe('3.1');
  });

  it('describes every route of the app, and no other', () => {
    const routes = createApp(standInParts()).routes.filter(
      ({ method, path }) => method !== 'ALL' && !elsewhere.test(path),
    );
    const names = routes.flatMap(({ method, path }) => {
      if (path === '/v1/operations/:operation')
        return [...registry.keys()].map((name) => `POST /v1/operations/${name}`);
      return [`${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`];
    });
    expect(names.length).toBeGreaterThan(50);
    expect(described.map(({ name }) => name).sort()).toEqual([...new Set(names)].sort());
  });

  it('leads only to components that exist, and has none that nobody needs', () => {
    const named = new Set(
      [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/([^"]+)"/g)].map(([, name]) => name),
    );
    const { securitySchemes: _, ...components } = document.components;
    const existing = Object.entries(components).flatMap(([kind, all]) =>
      Object.keys(all).map((name) => `${kind}/${name}`),
    );
    expect([...named].filter((name) => !existing.includes(name ?? ''))).toEqual([]);
    expect(existing.filter((name) => !named.has(name))).toEqual([]);
  });

  it('names each operation once, and its version is that of the package', () => {
    const ids = described.map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    expect(document.info.version).toBe(JSON.parse(readText('package.json')).version);
  });

  it('has each error code on some route', () => {
    const text = JSON.stringify(document.components.responses);
    expect(errorCodes.filter((code) => !text.includes(`"${code}"`))).toEqual([]);
  });

  it('demands a key of every route under /v1, and of no other', () => {
    const open = described.filter(({ operation }) => operation.security.length === 0).map(({ name }) => name);
    expect(open.filter((name) => name.includes(' /v1/'))).toEqual([]);
    expect(described.filter(({ name }) => name.includes(' /v1/admin/')).flatMap(scopesOf)).not.toContain('operate');
  });
});

const scopesOf = ({ operation }: { operation: OpenApiOperation }) =>
  operation.security.flatMap(({ apiKey = [] }) => apiKey);

describe('an operation of one’s own', () => {
  it('is described as soon as it is registered', () => {
    const own = { ...createTransfer, name: 'transfer.own' };
    const paths = createDocument(createRegistry([...operations, own])).paths;
    expect(paths['/v1/operations/transfer.own']?.post?.responses).toHaveProperty('201');
  });
});

describe('an answer that the document does not know', () => {
  const check = new AnswerCheck(document);
  const headers = { 'content-type': 'application/json', 'x-request-id': 'x' };
  const faultsOf = (answer: { status?: number; headers?: Record<string, string>; text?: string }) =>
    check.faultsOf('GET', '/health/live?x=1', { status: 200, headers, text: '{"status":"ok"}', ...answer });

  it.each([
    ['another status', { status: 201 }],
    ['another type', { headers: { ...headers, 'content-type': 'text/plain' } }],
    ['no request id', { headers: { 'content-type': 'application/json' } }],
    ['a field too many', { text: '{"status":"ok","more":1}' }],
    ['a field too few', { text: '{}' }],
    ['another value', { text: '{"status":"fine"}' }],
  ])('is noticed: %s', (_, answer) => {
    expect(faultsOf({})).toEqual([]);
    expect(faultsOf(answer)).toHaveLength(1);
  });
});

it('the codes of a transfer are those that its SQL gives', () => {
  const source = readText('src/store/migrations/0005_transfer_functions.ts');
  const codes = [...source.matchAll(/reject_transfer\(p_record, '(\w+)'/g)].map(([, code]) => code);
  expect(new Set(createTransfer.rejects)).toEqual(new Set(codes));
});

describe('every example', () => {
  const check = new AnswerCheck(document);
  const contents: { name: string; schema: JsonSchema; value: unknown }[] = [];
  const collect = (name: string, node: unknown) => {
    if (typeof node !== 'object' || node === null) return;
    const { schema, examples } = node as { schema?: JsonSchema; examples?: Record<string, { value: unknown }> };
    if (schema && examples && !Array.isArray(examples)) {
      for (const [title, { value }] of Object.entries(examples))
        contents.push({ name: `${name}/${title}`, schema, value });
    }
    for (const [key, child] of Object.entries(node)) collect(`${name}/${key}`, child);
  };
  collect('', { ...document.paths, ...document.components.responses });

  it('fits the schema beside it', () => {
    expect(contents.length).toBeGreaterThan(150);
    const faults = contents.flatMap(({ name, schema, value }) =>
      check.faultsOfValue(schema, value).map((fault) => `${name}: ${fault}`),
    );
    expect(faults).toEqual([]);
  });

  it('is there: each route has one, and each of its answers of this kind too', () => {
    const without = described.filter(({ operation }) => !/"examples"/.test(JSON.stringify(operation)));
    // These have no parameter and no body to show.
    expect(without.map(({ name }) => name)).toEqual(['GET /metrics', 'GET /openapi.json', 'GET /docs']);
  });
});
