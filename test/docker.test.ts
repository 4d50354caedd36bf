import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { healthRoutes } from '../src/api/routes/health.ts';
import { environmentVariables, roles } from '../src/config.ts';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const read = (file: string): string => readFileSync(join(root, file), 'utf8');

interface ComposeService {
  image?: string;
  build?: string;
  command?: string[];
  environment?: Record<string, unknown>;
  ports?: string[];
  container_name?: string;
  healthcheck?: { test: string[] };
  depends_on?: Record<string, { condition: string }>;
  volumes?: string[];
}

const compose: { services: Record<string, ComposeService>; volumes: Record<string, unknown> } = parse(
  read('docker-compose.yml'),
  { merge: true },
);
const services = Object.entries(compose.services);
const own = services.filter(([, service]) => service.build !== undefined);
const service = (name: string): ComposeService => {
  const found = compose.services[name];
  if (found === undefined) throw new Error(`docker-compose.yml has no service ${name}`);
  return found;
};

// Instructions, with their continued lines joined.
const instructions = read('Dockerfile')
  .replaceAll('\\\n', ' ')
  .split('\n')
  .map((line) => line.trim())
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => ({ name: line.split(' ', 1)[0] ?? '', rest: line.slice(line.indexOf(' ') + 1) }));
const lastStage = instructions.slice(instructions.map(({ name }) => name).lastIndexOf('FROM'));
const lastOf = (name: string): string =>
  lastStage.filter((instruction) => instruction.name === name).at(-1)?.rest ?? '';

describe('the Dockerfile', () => {
  it('copies only what the repository has and .dockerignore lets through', () => {
    const allowed = read('.dockerignore')
      .split('\n')
      .filter((line) => line.startsWith('!'))
      .map((line) => line.slice(1));
    const sources = instructions
      .filter(({ name, rest }) => name === 'COPY' && !rest.startsWith('--from'))
      .flatMap(({ rest }) => rest.split(' ').slice(0, -1));
    expect(sources.length).toBeGreaterThan(0);
    for (const source of sources) {
      expect(existsSync(join(root, source)), source).toBe(true);
      expect(allowed).toContain(source);
    }
  });

  it('runs as a user who is not root', () => {
    expect(lastOf('USER')).toBe('node');
  });

  it('starts a role that exists, from a file that the build makes', () => {
    const [program, file] = JSON.parse(lastOf('ENTRYPOINT'));
    expect(program).toBe('node');
    expect(existsSync(join(root, file.replace(/^dist\/(.*)\.js$/, 'src/$1.ts')))).toBe(true);
    expect(roles).toContain(JSON.parse(lastOf('CMD'))[0]);
  });

  it('sets only variables that the service or Node reads', () => {
    const names = lastOf('ENV')
      .split(' ')
      .map((pair) => pair.split('=')[0]);
    for (const name of names) expect([...environmentVariables, 'NODE_ENV']).toContain(name);
  });
});

describe('docker-compose.yml', () => {
  it('sets only variables that the service reads', () => {
    expect(own.map(([name]) => name).sort()).toEqual(['api', 'migrate', 'worker']);
    for (const [, { environment = {} }] of own) {
      for (const name of Object.keys(environment)) expect(environmentVariables).toContain(name);
    }
  });

  it('has no secret of its own: each comes from the environment, and a missing one stops the start', () => {
    for (const [, { environment = {} }] of services) {
      for (const [name, value] of Object.entries(environment)) {
        if (/PASSWORD|KEY|DATABASE_URL/.test(name)) expect(String(value)).toMatch(/\$\{[A-Z0-9_]+:\?[^}]+\}/);
      }
    }
  });

  it('starts only roles that exist', () => {
    for (const [, { command }] of own) expect(roles).toContain(command?.[0]);
  });

  it('can be scaled in its workers', () => {
    expect(service('worker')).not.toHaveProperty('container_name');
    expect(service('worker')).not.toHaveProperty('ports');
  });

  it('keeps Redis on disk and never lets it evict', () => {
    const flags = service('redis').command?.join(' ');
    expect(flags).toContain('--appendonly yes');
    expect(flags).toContain('--maxmemory-policy noeviction');
  });

  it('waits for the migration and for healthy stores before it serves', () => {
    for (const name of ['api', 'worker']) {
      expect(service(name).depends_on).toMatchObject({
        migrate: { condition: 'service_completed_successfully' },
        postgres: { condition: 'service_healthy' },
        redis: { condition: 'service_healthy' },
      });
    }
  });

  it('checks the health of everything that stays up, at a path that is a route', () => {
    const paths = healthRoutes({ checkHealth: () => Promise.reject(new Error('not called')) }).routes.map(
      (route) => `/health${route.path}`,
    );
    for (const [name, { healthcheck }] of services) {
      if (name === 'migrate') continue;
      expect(healthcheck, name).toBeDefined();
      for (const [, path = ''] of healthcheck?.test.join(' ').matchAll(/http:\/\/[^/]+(\/[a-z/]+)/g) ?? []) {
        expect(paths).toContain(path);
      }
    }
  });

  it('keeps what must last in volumes that are declared', () => {
    for (const [, { volumes = [] }] of services) {
      for (const volume of volumes) expect(Object.keys(compose.volumes)).toContain(volume.split(':')[0]);
    }
    expect(service('postgres').volumes).not.toEqual([]);
    expect(service('redis').volumes).not.toEqual([]);
  });
});
