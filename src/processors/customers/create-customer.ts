import { z } from 'zod';
import { insertCustomer } from '../../store/customers.ts';
import { defineOperation, printableKey } from '../define-operation.ts';
import { text } from '../fields.ts';
import { rejected, succeeded } from '../outcomes.ts';
import { customerSchema, customerView, showCustomer } from './customer-view.ts';
import { isPlausibleDocument } from './document.ts';

/** Text with something to see in it. */
const shown = (maxLength: number) => text(maxLength).refine((value) => value.trim() !== '', 'must not be blank');

export const createCustomer = defineOperation({
  name: 'customer.create',
  request: z.strictObject({
    name: shown(255),
    // 254 is the longest address that mail can carry.
    email: z.email('must be an email address').max(254),
    document: shown(20)
      .min(3)
      .refine(isPlausibleDocument, 'has the form of a CPF or CNPJ, but its check digits are wrong')
      .optional(),
  }),
  success: { status: 201, body: customerSchema },
  rejects: ['EMAIL_TAKEN'],
  key: { required: false, pattern: printableKey },
  onMismatch: 'replay',
  replay: showCustomer,
  process: async ({ name, email, document = null }, { tx, record }) => {
    const customer = await insertCustomer(tx, { id: record.id, client: record.client, name, email, document });
    if (!customer) return rejected('EMAIL_TAKEN', 'Another customer has this email.');
    return succeeded(201, customerView(customer), { resource: { type: 'customer', id: customer.id } });
  },
});
