/** The package has no types. Only what s3-server.ts uses is declared. */
declare module 's3rver' {
  import type { IncomingHttpHeaders } from 'node:http';
  import type { AddressInfo } from 'node:net';
  import type { Readable } from 'node:stream';

  export interface Context {
    method: string;
    path: string;
    query: Record<string, string | undefined>;
    headers: IncomingHttpHeaders;
    status: number;
    /** A plain object is sent as XML. */
    body: unknown;
  }

  export interface Received {
    size: number;
    md5: string;
  }

  export interface Store {
    getResourcePath(bucket: string, key: string | undefined, resource: string): string;
    putBucket(bucket: string): Promise<unknown>;
    putObject(object: { bucket: string; key: string; content: Readable }): Promise<Received>;
    putPart(bucket: string, uploadId: string, partNumber: string, content: Readable): Promise<Received>;
    deleteObject(bucket: string, key: string): Promise<void>;
  }

  // biome-ignore lint/style/noDefaultExport: this is how the package exports it.
  export default class S3rver {
    constructor(options: {
      address: string;
      port: number;
      directory: string;
      silent: boolean;
      vhostBuckets: boolean;
    });
    readonly store: Store;
    readonly middleware: ((context: Context, next: () => Promise<void>) => Promise<void>)[];
    run(): Promise<AddressInfo>;
    close(): Promise<void>;
  }
}
