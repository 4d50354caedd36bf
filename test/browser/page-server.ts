import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pageHeaders } from '../../src/api/pages/page-response.ts';

export interface PageServer {
  readonly url: string;
  /** The requests so far, as `GET /path`. */
  readonly requests: string[];
  close(): Promise<void>;
}

/** Serves documents on this machine with the headers of the public pages. A document is named as `GET /path`. */
export async function servePages(documents: Readonly<Record<string, string>>): Promise<PageServer> {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    const name = `${request.method} ${request.url}`;
    requests.push(name);
    const document = documents[name];
    response.writeHead(document === undefined ? 404 : 200, pageHeaders()).end(document);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        // The browser keeps its connections open for a next request that does not come.
        server.closeAllConnections();
      }),
  };
}
