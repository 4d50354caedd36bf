import { once } from 'node:events';
import { createConnection, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { testApiKey } from '../api.ts';

export interface SlowUploads {
  /** How many are still under way. */
  count: () => number;
  /** A row more on each, so many times. */
  trickle: (rounds: number) => Promise<void>;
  cut: () => void;
}

/** Begins uploads that never come to their end. */
export async function holdUploads(url: string, count: number): Promise<SlowUploads> {
  const { hostname, port } = new URL(url);
  const sockets = await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const socket = createConnection({ host: hostname, port: Number(port) });
      socket.on('error', () => undefined);
      await once(socket, 'connect');
      socket.write(head(index));
      return socket;
    }),
  );
  const alive = () => sockets.filter((socket) => !socket.destroyed && socket.writable);
  return {
    count: () => alive().length,
    trickle: async (rounds) => {
      for (let round = 1; round <= rounds; round += 1) {
        for (const socket of alive()) writeRow(socket, round);
        await pause(200);
      }
    },
    cut: () => {
      for (const socket of sockets) socket.destroy();
    },
  };
}

function head(index: number): string {
  return [
    `POST /v1/mailings?filename=slow-${index}.csv HTTP/1.1`,
    'Host: localhost',
    `Authorization: Bearer ${testApiKey}`,
    'Content-Type: text/csv',
    'Content-Length: 100000',
    '',
    'email\nuser@example.com\n',
  ].join('\r\n');
}

function writeRow(socket: Socket, round: number): void {
  socket.write(`user${round}@example.com\n`);
}
