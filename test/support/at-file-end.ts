type Ending = () => Promise<unknown>;

const endings = new Set<Ending>();

/** Has something done when the test file has ended, whatever became of its tests: see tidy-up.ts. */
export function atFileEnd(ending: Ending): void {
  endings.add(ending);
}

export async function endFile(): Promise<void> {
  const due = [...endings];
  endings.clear();
  await Promise.all(due.map((ending) => ending()));
}
