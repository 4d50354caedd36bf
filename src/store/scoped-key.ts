/** What a key is unique within. A record of an operation without a key is known by its id alone. */
export interface KeyScope {
  id: string;
  client: string;
  sub_client: string;
  operation: string;
  key: string | null;
}

/**
 * One readable name for (operation, client, sub-client, key), e.g. `transfer.create~default@shop~order-0001`.
 * Every character outside A-Z a-z 0-9 . _ - is written as =XX, so the separators cannot occur in a part and no two
 * keys share a name. It is never all digits and has no colon, which BullMQ would refuse in a job id.
 */
export function scopedKeyOf(scope: KeyScope): string {
  const client =
    scope.sub_client === '' ? escapePart(scope.client) : `${escapePart(scope.client)}@${escapePart(scope.sub_client)}`;
  const key = scope.key === null ? `+${scope.id}` : escapePart(scope.key);
  return `${escapePart(scope.operation)}~${client}~${key}`;
}

/** BullMQ ignores an id that it still knows, so a record that runs again needs a new one: its generation is added. */
export function jobIdOf(record: KeyScope & { generation: number }): string {
  return toJobId(scopedKeyOf(record), record.generation);
}

export function toJobId(scopedKey: string, generation: number): string {
  return generation === 1 ? scopedKey : `${scopedKey}~${generation}`;
}

const plain = /^[A-Za-z0-9._-]*$/;

function escapePart(part: string): string {
  if (plain.test(part)) return part;
  return Array.from(new TextEncoder().encode(part), escapeByte).join('');
}

function escapeByte(byte: number): string {
  const character = String.fromCharCode(byte);
  return plain.test(character) ? character : `=${byte.toString(16).toUpperCase().padStart(2, '0')}`;
}
