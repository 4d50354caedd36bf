/** That of the package; a test compares them. */
export const version = '0.1.0';

/** What holds for every route, in Markdown. */
export function describeApi(): string {
  return `
Semel runs operations with side effects once. Send a request as often as you like: with the same \`Idempotency-Key\` it is
done once, and each answer is the same.

**Errors** are \`application/problem+json\` (RFC 9457). \`code\` never changes. Where an operation is concerned, \`effect\` says
what became of it: \`applied\`, \`not_applied\` or \`unknown\`. What is unknown, ask again with the same key.

**Unknown fields** in a body or a query are refused, so that a misspelt one is noticed.

**Lists** have \`items\` and \`nextCursor\`. Send it back as \`cursor\` for the next page.

**Amounts** are whole numbers of minor units, such as cents. **Times** are ISO 8601 in UTC.

**Another client's things** are answered like things that do not exist.

A request whose headers are too long for HTTP is answered with 413 \`TOO_LARGE\`, whatever its route.
`.trim();
}
