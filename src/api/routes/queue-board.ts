import { Hono } from 'hono';
import { requireAdmin } from '../admin/require-admin.ts';
import type { ApiEnv, ApiParts } from '../api-env.ts';
import { handleError } from '../problem-response.ts';
import { sealBoard } from '../queue-board/board-headers.ts';
import { createBoard } from '../queue-board/create-board.ts';

/** The queues as a person sees them, for the administrator alone. */
export function queueBoardRoutes(
  parts: Pick<ApiParts, 'adminLogin' | 'queues' | 'log'>,
  basePath: string,
): Hono<ApiEnv> {
  const routes = new Hono<ApiEnv>();
  routes.use(requireAdmin(parts.adminLogin));
  routes.use(sealBoard);
  if (parts.adminLogin.password === undefined) return routes;
  const board = createBoard(parts, basePath);
  board.onError((error, c) => handleError(parts, error, c as never));
  return routes.route('/', board);
}
