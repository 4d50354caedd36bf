import { readFileSync, realpathSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

export interface SystemUser {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

/** Postgres refuses to run as root. Who runs it then; undefined if we are not root and can run it ourselves. */
export function findPostgresUser(): SystemUser | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
    .map(([name = '', , uid = '', gid = '']) => ({ name, uid: Number(uid), gid: Number(gid) }));
  // On macOS the ids of nobody are negative in the file and unsigned in the system.
  const toUnsigned = (id: number): number => (id < 0 ? id + 2 ** 32 : id);
  for (const wanted of ['postgres', '_postgres', 'nobody']) {
    const user = users.find(({ name, uid, gid }) => name === wanted && Number.isInteger(uid) && Number.isInteger(gid));
    if (user) return { name: user.name, uid: toUnsigned(user.uid), gid: toUnsigned(user.gid) };
  }
  throw new Error('Postgres cannot run as root, and there is neither a user "postgres" nor a user "nobody" to run it.');
}

const readBit = 0b100;
const enterBit = 0b001;

/** Whether the user may pass through every folder on the way to `path`. */
export function canReach(path: string, user: SystemUser): boolean {
  const real = realpathSync(path);
  for (let folder = dirname(real); ; folder = dirname(folder)) {
    if (!isAllowed(folder, user, enterBit)) return false;
    if (folder === dirname(folder)) return true;
  }
}

export function canRead(path: string, user: SystemUser): boolean {
  return canReach(path, user) && isAllowed(path, user, readBit);
}

export function canEnter(folder: string, user: SystemUser): boolean {
  return canReach(folder, user) && isAllowed(folder, user, enterBit);
}

function isAllowed(path: string, user: SystemUser, bit: number): boolean {
  const { uid, gid, mode } = statSync(path);
  if (uid === user.uid) return (mode & (bit << 6)) !== 0;
  if (gid === user.gid) return (mode & (bit << 3)) !== 0;
  return (mode & bit) !== 0;
}
