import { type Handler, Hono } from 'hono';
import { decodeToken, readUnsubscribeToken } from '../../processors/mailings/links.ts';
import { findEntryByToken, verifyEntry } from '../../store/mailings/mailing-entries.ts';
import { addSuppression } from '../../store/mailings/suppressions.ts';
import { answerInTime } from '../answer-in-time.ts';
import type { ApiContext, ApiEnv, ApiParts } from '../api-env.ts';
import { unavailablePage, unknownLinkPage } from '../pages/failure-pages.ts';
import { pageResponse } from '../pages/page-response.ts';
import { unsubscribedPage, unsubscribePage } from '../pages/unsubscribe-pages.ts';
import { verifiedPage } from '../pages/verified-page.ts';

/** The links in mails: pages for people, who have no key but what is in the link. */
export function publicLinkRoutes(parts: ApiParts): Hono<ApiEnv> {
  /** People see a page, whatever happens. */
  const page =
    (answer: (c: ApiContext) => Promise<string | undefined>): Handler<ApiEnv> =>
    async (c: ApiContext) => {
      const requestId = c.get('requestId');
      try {
        const html = await answerInTime(answer(c));
        return html === undefined
          ? pageResponse(unknownLinkPage(), 404, requestId)
          : pageResponse(html, 200, requestId);
      } catch (error) {
        parts.log.warn({ err: error, requestId }, 'a page could not be shown');
        return pageResponse(unavailablePage(), 503, requestId);
      }
    };
  const findSubscriber = async (c: ApiContext) => {
    const token = readUnsubscribeToken(c.req.param('token') ?? '', parts.mailings.linkKey());
    return token === undefined ? undefined : await findEntryByToken(parts.db, token);
  };

  return new Hono<ApiEnv>()
    .get(
      '/v/:token',
      page(async (c) => {
        const token = decodeToken(c.req.param('token') ?? '');
        const entry = token === undefined ? undefined : await verifyEntry(parts.db, token);
        return entry && verifiedPage({ email: entry.email, verifiedAt: entry.verified_at, sender: entry.sender });
      }),
    )
    .get(
      '/u/:token',
      // It only asks: mail scanners follow every link, and must not unsubscribe anybody.
      page(async (c) => {
        const entry = await findSubscriber(c);
        // Relative, so that it fits whatever path PUBLIC_URL has before it.
        const action = c.req.param('token') ?? '';
        return entry && unsubscribePage({ email: entry.email, sender: entry.sender, action });
      }),
    )
    .post(
      '/u/:token',
      page(async (c) => {
        const entry = await findSubscriber(c);
        if (!entry) return undefined;
        const { client, email, mailing_id } = entry;
        await addSuppression(parts.db, { client, email, reason: 'unsubscribed', mailing_id });
        return unsubscribedPage({ email, sender: entry.sender });
      }),
    );
}
