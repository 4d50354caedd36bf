import { expect } from 'vitest';
import { type Answer, Api, type CallOptions } from '../support/api.ts';

/** What no outsider may learn from an answer: how the inside is made, and where it is. */
const internals: Record<string, RegExp> = {
  'a stack trace': /\n\s+at |\bat [\w.<> ]+ \(|node:internal|\b[A-Z]\w*Error:/,
  SQL: /\b(?:select .+ from|insert into|delete from|syntax error|relation "|column "|invalid byte sequence)/i,
  'a path': /\/(?:tmp|src|dist|usr|var|node_modules)\/|\.[cm]?[jt]s:\d+/,
  'a library': /\b(?:zod|kysely|bullmq|ioredis|busboy|hono|undici|nodemailer|csv-parse|pg|postgres(?:ql)?|redis)\b/i,
};

/** Holds for each answer to whatever is sent here: it is no failure of ours, and it says nothing of the inside. */
export function expectSafe(answer: Pick<Answer, 'status' | 'headers' | 'text'>, what = ''): void {
  expect(answer.status, `${what}: ${answer.text}`).toBeGreaterThanOrEqual(200);
  expect(answer.status, `${what}: ${answer.text}`).toBeLessThan(500);
  expect(answer.headers, what).not.toHaveProperty('x-powered-by');
  expect(answer.headers, what).not.toHaveProperty('server');
  if (answer.status >= 400) expect(leaksOf(answer.text), `${what}: ${answer.text}`).toEqual([]);
}

export function leaksOf(text: string): string[] {
  return Object.entries(internals).flatMap(([name, pattern]) => (pattern.test(text) ? [name] : []));
}

/** The client of the tests, which also looks at each answer for what must never be in one. */
export class SafeApi extends Api {
  override async send(
    method: string,
    path: string,
    body?: string | Buffer,
    options: CallOptions = {},
  ): Promise<Answer> {
    const answer = await super.send(method, path, body, options);
    expectSafe(answer, `${method} ${path}`);
    return answer;
  }
}
