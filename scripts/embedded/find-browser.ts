import { adviseInstallation, findProgram, installPackage, isExecutable } from './install-package.ts';

// On macOS applications lie in folders of their own and not on the PATH.
const applications = ['Chromium', 'Google Chrome'].map((name) => `/Applications/${name}.app/Contents/MacOS/${name}`);

/** The path of a Chromium for the tests: the one at hand, else one that is installed now. */
export function findOrInstallBrowser(onProgress: (line: string) => void = () => {}): string {
  const found = findBrowser();
  if (found !== undefined) return found;
  onProgress('Installing Chromium (this needs the network once) …');
  // Without a font no text shows. Chromium's packages bring one only through others; this one is small.
  const problem = installPackage('chromium', { alongside: ['fonts-liberation'] });
  const installed = findBrowser();
  if (installed !== undefined) return installed;
  throw new Error(
    `Chromium is needed and ${problem}. ${adviseInstallation({ debian: 'chromium', homebrew: '--cask chromium' })}.`,
  );
}

function findBrowser(): string | undefined {
  return (
    findProgram(['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']) ??
    applications.find(isExecutable)
  );
}
