import { sql } from 'kysely';
import { expect } from 'vitest';
import type { Database } from '../../src/store/database.ts';
import type { Answer } from '../support/api.ts';

/** What every refusal has in common, whatever its code. */
export function expectProblem(answer: Answer, status: number, code: string): void {
  expect({ status: answer.status, code: answer.body?.code }, answer.text).toEqual({ status, code });
  expect(answer.headers['content-type']).toBe('application/problem+json');
  expect(answer.headers['x-request-id']).toMatch(/^[A-Za-z0-9._:-]{1,128}$/);
  expect(answer.body).toMatchObject({ type: expect.any(String), title: expect.any(String), status });
  expect(answer.body.detail).toEqual(expect.any(String));
}

/** A refusal of which only the class is fixed: the client's fault, said as a problem with a code. */
export function expectClientProblem(answer: Answer): void {
  expect(answer.status, answer.text).toBeGreaterThanOrEqual(400);
  expect(answer.status, answer.text).toBeLessThan(500);
  expectProblem(answer, answer.status, answer.body?.code);
  expect(answer.body.code).toMatch(/^[A-Z_]+$/);
}

/** How much is stored, to show that a refused request left nothing. */
export async function countStored(db: Database): Promise<Record<string, number>> {
  const { rows } = await sql<Record<string, number>>`
    select (select count(*) from records) as records, (select count(*) from audit) as audit,
      (select count(*) from accounts) as accounts, (select count(*) from transfers) as transfers,
      (select count(*) from movements) as movements, (select count(*) from customers) as customers,
      (select count(*) from proposals) as proposals, (select count(*) from events) as events`.execute(db);
  return rows[0] ?? {};
}
