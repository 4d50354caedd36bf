// The one script that runs before anything is installed: plain JavaScript, Node's own modules only.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const programs = {
  start: 'scripts/start.ts',
  test: 'scripts/test.ts',
  bench: 'scripts/bench/main.ts',
  demo: 'scripts/demo.ts',
  bulk: 'scripts/bulk-enqueue.ts',
  'audit:verify': 'scripts/audit-verify.ts',
  lab: 'scripts/lab/main.ts',
  soak: 'scripts/soak/main.ts',
};

/** @type {import('node:child_process').ChildProcess | undefined} */
let child;

function checkNodeVersion() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  if (major > 20 || (major === 20 && minor >= 19)) return;
  fail(`Semel needs Node 20.19 or later; this is Node ${process.versions.node}.`);
}

/** npm keeps a list of what it has installed. A package that is missing there, or in another version, means: install. */
function isInstalled() {
  try {
    const wanted = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages;
    const present = JSON.parse(readFileSync(join(root, 'node_modules', '.package-lock.json'), 'utf8')).packages;
    return Object.entries(wanted).every(
      ([path, entry]) => path === '' || entry.optional || present[path]?.version === entry.version,
    );
  } catch {
    return false;
  }
}

async function install() {
  console.log('Installing dependencies (this needs the network once) …');
  // Not `ci`: it refuses a lock file that lacks an optional package of some other platform. This keeps to the lock and
  // does not rewrite it. With NODE_ENV=production npm would leave out what builds and tests the service.
  const args = ['install', '--no-save', '--include=dev', '--no-audit', '--no-fund'];
  const npm = process.env.npm_execpath;
  const code = npm?.endsWith('.js') ? await run(process.execPath, [npm, ...args]) : await run('npm', args);
  if (code !== 0) fail('The dependencies could not be installed; npm says why above.', code);
}

/**
 * Runs a program in our place and resolves with its exit code.
 * @param {string} file
 * @param {string[]} args
 * @param {boolean} withChannel the program then learns of our end by the channel closing
 * @returns {Promise<number>}
 */
function run(file, args, withChannel = false) {
  return new Promise((resolve) => {
    const started = spawn(file, args, {
      cwd: root,
      stdio: withChannel ? ['inherit', 'inherit', 'inherit', 'ipc'] : 'inherit',
    });
    child = started;
    started.once('error', (error) => {
      console.error(error.message);
      resolve(1);
    });
    started.once('exit', (code, signal) => resolve(code ?? 128 + (signal ? constants.signals[signal] : 0)));
  });
}

/**
 * @param {string} line
 * @param {number} code
 */
function fail(line, code = 1) {
  console.error(line);
  process.exit(code);
}

for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']))
  process.on(signal, () => child?.kill(signal));

// npm killed with -9 cannot tell us. Once a second is often enough for somebody who looks at what is left.
if (process.env.npm_lifecycle_event !== undefined) {
  const parent = process.ppid;
  setInterval(() => process.ppid !== parent && child?.kill('SIGTERM'), 1_000).unref();
}

checkNodeVersion();
const [name, ...args] = process.argv.slice(2);
const program = programs[name];
if (program === undefined) fail(`Usage: node scripts/bootstrap.mjs ${Object.keys(programs).join('|')}`);
if (!isInstalled()) await install();
const followParent = pathToFileURL(join(root, 'scripts', 'follow-parent.mjs')).href;
process.exit(await run(process.execPath, ['--import', followParent, '--import', 'tsx', program, ...args], true));
