import { z } from 'zod';
import { id, instant } from '../processors/fields.ts';
import { type MovementRow, movementKinds } from '../store/movements.ts';

export const movementSchema = z
  .strictObject({
    id: z.string(),
    kind: z.enum(movementKinds),
    amount: z.int().describe('Positive if the account received it.'),
    balanceAfter: z.int().nullable(),
    operationId: id,
    transferId: id.nullable(),
    createdAt: instant,
  })
  .meta({ id: 'Movement' });

export function movementView(movement: MovementRow): z.infer<typeof movementSchema> {
  return {
    id: String(movement.id),
    kind: movement.kind,
    amount: movement.amount,
    balanceAfter: movement.balance_after,
    operationId: movement.operation_id,
    transferId: movement.kind === 'transfer' ? movement.operation_id : null,
    createdAt: movement.created_at.toISOString(),
  };
}
