import { z } from 'zod';
import { mailbox } from '../../config.ts';
import { text } from '../../processors/fields.ts';
import { identities } from '../../queues/mailings/create-mailing.ts';

/** As long as a mail may sensibly be. */
const maxTextLength = 500_000;

/** A value that ends up in a header. A line break there could begin another one. */
const headerText = (maxLength: number) =>
  z
    .string()
    .min(1, 'must not be empty')
    .max(maxLength)
    .regex(/^[^\p{Cc}\p{Zl}\p{Zp}]*$/u, 'must not contain line breaks or other control characters');

/** What a mailing is told besides its file. */
export const uploadFields = z.strictObject({
  subject: headerText(500).optional(),
  text: text(maxTextLength).min(1, 'must not be empty').optional(),
  html: text(maxTextLength).min(1, 'must not be empty').optional(),
  from: headerText(400).pipe(mailbox).optional(),
  ratePerSecond: z
    .string()
    .regex(/^\d{1,5}$/, 'must be a whole number from 1 to 10000')
    .transform(Number)
    .refine((rate) => rate >= 1 && rate <= 10_000, 'must be a whole number from 1 to 10000')
    .meta({ documentedAs: { type: 'integer', minimum: 1, maximum: 10_000 } })
    .optional(),
});

export type UploadFields = z.infer<typeof uploadFields>;

export const uploadFieldNames: readonly string[] = Object.keys(uploadFields.shape);

/** A name and no path: it is shown to people and compared, and never used to find a file. */
const filenameSchema = headerText(255).refine((name) => !/[/\\]/.test(name), 'must be a name without folders');

export const uploadName = z.object({ filename: filenameSchema });

export const uploadQuery = z.strictObject({
  filename: filenameSchema.optional(),
  identity: z.enum(identities).default('both'),
});
