import { existsSync } from 'node:fs';
import { appendFile, cp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect } from 'vitest';
import type { AnyOperation } from '../../src/processors/define-operation.ts';
import { readText, root } from './sources.ts';

/** Copies src and adds the README's blocks where their first lines say. Returns the operation. */
export async function writeReadmeExample(folder: string): Promise<AnyOperation> {
  await cp(join(root, 'src'), join(folder, 'src'), { recursive: true });
  const blocks = [...readText('README.md').matchAll(/```ts\n\/\/ (src\/\S+?\.ts)(, at the end)?\n(.*?)```/gs)];
  expect(blocks).toHaveLength(2);
  let operationFile = '';
  for (const [, path = '', atTheEnd, block = ''] of blocks) {
    const file = join(folder, path);
    expect(existsSync(file)).toBe(atTheEnd !== undefined);
    await appendFile(file, block);
    if ((await readFile(file, 'utf8')).includes('defineOperation(')) operationFile = file;
  }
  const exported: Record<string, AnyOperation> = await import(pathToFileURL(operationFile).href);
  const [operation] = Object.values(exported);
  if (!operation) throw new Error('the example exports no operation');
  return operation;
}
