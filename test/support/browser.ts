import { mkdtemp, readlink, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';
import { inject } from 'vitest';
import { findOrInstallBrowser } from '../../scripts/embedded/find-browser.ts';
import { leash } from '../../scripts/embedded/leash.ts';
import { atFileEnd } from './at-file-end.ts';

// As root there is no sandbox, and only our own pages are opened. The others keep Chromium from looking for a graphics
// card, from asking questions and from talking to anybody but the page.
const flags = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** A Chromium of the test file's own, closed at its end. Take a `newContext` for each visitor. */
export async function openBrowser(): Promise<Browser> {
  const folder = await mkdtemp(join(inject('runDir'), 'browser-'));
  const first = await chromium.launchPersistentContext(folder, {
    executablePath: findOrInstallBrowser(),
    args: flags,
    artifactsDir: join(folder, 'artifacts'),
    // Caches and certificates go below the home folder, and that of whoever runs the tests is not ours.
    env: { PATH: process.env.PATH, HOME: folder, TMPDIR: folder, LANG: 'C.UTF-8' },
  });
  // Left alone, Chromium would end by itself, but it would write its profile while the run's folder is deleted.
  const letGo = leash(await readPid(folder), 'KILL');
  atFileEnd(async () => {
    await first.close();
    letGo();
    // What Chromium runs beside itself may write for a moment longer.
    await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  });
  const browser = first.browser();
  if (browser === null) throw new Error('Chromium runs and cannot be driven.');
  return browser;
}

/** Chromium locks its folder with a link that names its machine and its process. */
async function readPid(folder: string): Promise<number> {
  const owner = await readlink(join(folder, 'SingletonLock'));
  const pid = Number(owner.slice(owner.lastIndexOf('-') + 1));
  if (!Number.isInteger(pid) || pid <= 1) throw new Error(`Chromium's lock names no process: ${owner}`);
  return pid;
}
