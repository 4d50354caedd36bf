import { AppError } from '../../errors.ts';
import type { OperationHost } from '../../processors/define-operation.ts';
import { openSecretKey } from '../../store/secret-key.ts';
import type { WebhookConfig } from './pump.ts';
import { deriveSecret } from './signing.ts';
import { createTargetGuard, type Resolve, TargetRefused } from './target-guard.ts';

/** What the API needs to register webhooks: the guard, and the secrets that are shown once and stored nowhere. */
export function createOperationHost(config: WebhookConfig, options: { resolve?: Resolve } = {}): OperationHost {
  const guard = createTargetGuard({ allowPrivate: config.WEBHOOK_ALLOW_PRIVATE, ...options });
  const secretKey = openSecretKey(config);
  return {
    webhookSecretOf: (webhookId, version) => deriveSecret(secretKey(), webhookId, version),
    checkWebhookUrl: async (url) => {
      try {
        await guard.check(new URL(url));
      } catch (error) {
        if (!(error instanceof TargetRefused)) throw error;
        throw new AppError('WEBHOOK_URL_REFUSED', error.message, { extra: { effect: 'not_applied' } });
      }
    },
  };
}
