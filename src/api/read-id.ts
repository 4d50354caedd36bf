import { z } from 'zod';
import { AppError } from '../errors.ts';
import type { ApiContext } from './api-env.ts';

const idSchema = z.guid();

/** The id in the path. One that cannot exist is answered like one that does not. */
export function readId(c: ApiContext): string {
  const parsed = idSchema.safeParse(c.req.param('id'));
  if (!parsed.success) throw new AppError('NOT_FOUND', 'No id looks like that.');
  return parsed.data;
}
