import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Folders whose files start processes and watch them recover, those that take longest first. */
const slowFolders = ['/test/faults/lab-', '/test/faults/', '/test/scripts/', '/test/main.'];

/** The longest files begin, so that in the end there are only short ones and no core is left without work. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rest = await super.sort(files);
    return rest.toSorted((a, b) => rankOf(a) - rankOf(b));
  }
}

function rankOf({ moduleId }: TestSpecification): number {
  const rank = slowFolders.findIndex((folder) => moduleId.includes(folder));
  return rank === -1 ? slowFolders.length : rank;
}
