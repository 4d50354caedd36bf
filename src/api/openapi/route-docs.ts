import type { z } from 'zod';
import type { ErrorCode } from '../../errors.ts';
import type { AnyOperation } from '../../processors/define-operation.ts';
import type { ResponseHeader } from './headers.ts';

/** A request that can be sent as it is, and its answer. Ids in it are those of `example-ids.ts`. */
export interface ExampleDocs {
  path?: Record<string, string>;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  /** A value is sent as JSON, a text as it is. */
  body?: unknown;
  answer: { status: number; type?: string; body?: unknown };
}

export interface AnswerDocs {
  description: string;
  /** The schema of the JSON, if there is any. */
  body?: z.ZodType;
  /** What else may come, by media type. */
  otherTypes?: Record<string, z.ZodType>;
  headers?: readonly ResponseHeader[];
}

/** One route as the API's description shows it. The schemas are the objects that validate. */
export interface RouteDocs {
  summary: string;
  description?: string;
  /** What the key must be allowed to do. Unless given, it follows from the path. */
  access?: Access;
  /** Who asks from the machine itself needs no key. */
  isOpenToItself?: boolean;
  /** The parts of the path. An `{id}` needs no words. */
  path?: Record<string, z.ZodType>;
  query?: z.ZodObject;
  /** Whether the client may name its request, and how. */
  key?: AnyOperation['key'];
  /** Whether the client may say how long it waits. */
  takesPrefer?: boolean;
  body?: z.ZodType;
  bodyIsOptional?: boolean;
  /** Of the body, what the path gives instead. */
  fromPath?: readonly string[];
  /** Bodies that are not JSON, by media type. */
  otherBodies?: Record<string, z.ZodType>;
  answers: Record<number, AnswerDocs>;
  /** Beside those that follow from the form of the route. */
  problems?: readonly ErrorCode[];
  /** Problems that are kept under the key and given again. */
  storedProblems?: readonly ErrorCode[];
  /** The operation that it runs. */
  operation?: AnyOperation;
  examples: Record<string, ExampleDocs>;
}

export type Access = 'public' | 'operate' | 'admin';
export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
export type RouteName = `${Method} /${string}`;

/** The routes of a resource, under the heading where a reader looks for them. */
export interface RouteGroup {
  tag: string;
  description: string;
  routes: Record<RouteName, RouteDocs>;
}

export function accessOf(path: string, docs: Pick<RouteDocs, 'access'>): Access {
  if (docs.access) return docs.access;
  if (path.startsWith('/v1/admin/')) return 'admin';
  return path.startsWith('/v1/') ? 'operate' : 'public';
}

/** A JSON body without `fromPath` or a key: the plain GET of one thing. */
export function shows(what: string, body: z.ZodType): Record<number, AnswerDocs> {
  return { 200: { description: what, body } };
}
