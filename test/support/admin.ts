import type { Answer, Api } from './api.ts';

export const testAdminPassword = 'a-password-of-the-tests';

export const basicOf = (user: string, password: string) =>
  `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;

export const adminHeaders = { authorization: basicOf('admin', testAdminPassword) };

/** Asks Bull Board's own API, as its page does. */
export async function askBoard(api: Api, method: string, path: string, body?: unknown): Promise<Answer> {
  return await api.send(method, `/queues/api${path}`, body === undefined ? undefined : JSON.stringify(body), {
    headers: adminHeaders,
  });
}
