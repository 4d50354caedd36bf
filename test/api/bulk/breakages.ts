interface Line {
  operation: string;
  key: string;
  request: Record<string, unknown>;
}

const text = (value: unknown) => JSON.stringify(value);
const withRequest = (line: Line, more: Record<string, unknown>) =>
  text({ ...line, request: { ...line.request, ...more } });

/** Ways to spoil a line, each with the code of its answer. None contains a newline. */
export const breakages: readonly [code: string, make: (line: Line) => string | Buffer][] = [
  ['INVALID_REQUEST', (line) => text(line).slice(0, -1)],
  ['INVALID_REQUEST', () => 'not JSON at all'],
  ['INVALID_REQUEST', () => '42'],
  ['INVALID_REQUEST', () => 'null'],
  ['INVALID_REQUEST', (line) => text([line])],
  ['NOT_FOUND', (line) => text({ ...line, operation: 'transfer.destroy' })],
  ['NOT_FOUND', (line) => text({ ...line, operation: '__proto__' })],
  ['INVALID_REQUEST', (line) => text({ ...line, operation: 7 })],
  ['INVALID_REQUEST', ({ key, request }) => text({ key, request })],
  ['INVALID_REQUEST', ({ operation, key }) => text({ operation, key })],
  ['IDEMPOTENCY_KEY_REQUIRED', ({ operation, request }) => text({ operation, request })],
  ['IDEMPOTENCY_KEY_INVALID', (line) => text({ ...line, key: 'short' })],
  ['IDEMPOTENCY_KEY_INVALID', (line) => text({ ...line, key: 'ten letters ñ' })],
  ['IDEMPOTENCY_KEY_INVALID', (line) => text({ ...line, key: 'k'.repeat(5_000) })],
  ['INVALID_REQUEST', (line) => text({ ...line, key: 12_345_678_901 })],
  ['INVALID_REQUEST', (line) => text({ ...line, extra: true })],
  ['INVALID_REQUEST', (line) => withRequest(line, { amount: 0 })],
  ['INVALID_REQUEST', (line) => withRequest(line, { amount: '1' })],
  ['INVALID_REQUEST', (line) => withRequest(line, { colour: 'red' })],
  ['INVALID_REQUEST', (line) => withRequest(line, { fromAccountId: 'nobody' })],
  ['INVALID_REQUEST', (line) => text(line).replace('"amount":1', '"amount":1,"amount":2')],
  ['INVALID_REQUEST', (line) => text(line).replace('"amount":1', '"amount":1.00000000000000000001')],
  ['INVALID_REQUEST', (line) => text(line).replace('"amount":1', '"amount":1,"description":"\\u0000"')],
  ['INVALID_REQUEST', (line) => text(line).replace('"amount":1', '"amount":1,"description":"\\ud800"')],
  ['INVALID_REQUEST', () => '['.repeat(10_000)],
  ['INVALID_REQUEST', (line) => Buffer.from(withRequest(line, { description: 'caf\u00e9' }), 'latin1')],
  ['INVALID_REQUEST', () => Buffer.from([0xff, 0xfe, 0x00])],
  ['INVALID_REQUEST', (line) => `${text(line)}${text(line)}`],
];
