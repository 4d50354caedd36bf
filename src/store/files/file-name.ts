/** Small letters alone, because some disks do not tell large ones from small. No part begins with a dot. */
const fileNamePattern = /^[a-z0-9][a-z0-9._-]*(\/[a-z0-9][a-z0-9._-]*)*$/;

export function isFileName(name: string): boolean {
  return fileNamePattern.test(name) && !name.includes('..');
}

/** A name is part of a path: one that could lead out of the folder is refused, and nothing is repaired. */
export function checkFileName(name: string): void {
  if (!isFileName(name)) throw new Error(`${JSON.stringify(name)} is not a file name such as mailings/a-1.csv`);
}
