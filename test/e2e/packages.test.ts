/** What the package installs: nothing twice, the licences of what is bundled, and FAULTS 61: optional packages left out. */

import { cp, mkdir, readdir, readFile, symlink } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import { fileURLToPath } from 'node:url';

import { beforeEach, expect, test } from 'vitest';
import * as z from 'zod';

import { type Ended, type Installation, openInstallation } from '../support/installation.ts';
import { startProcess } from '../support/installation.ts';

const root = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const slices = [
  { name: 'daily', dimensions: ['day'], metrics: ['installs'], date_period: '-3d:yesterday' },
];
const service = { simulator: { seed: 3, apps: 1 } };
const WITHOUT_S3 = ['@aws-sdk'];
const WITHOUT_ENGINE = ['@duckdb', ...WITHOUT_S3];

let installation: Installation;

beforeEach(async () => {
  installation = await openInstallation();
});

/** Runs a command of a copy of ripen beside which packages of some scopes were not installed. */
async function runWithout(scopes: readonly string[], argv: readonly string[]): Promise<Ended> {
  const packages = installation.path('ripen', 'node_modules');
  await mkdir(packages, { recursive: true });
  for (const name of ['dist', 'sql', 'config', 'package.json'])
    await cp(root(name), installation.path('ripen', name), { recursive: true });
  for (const name of await readdir(root('node_modules'))) {
    if (!scopes.includes(name)) await symlink(root(`node_modules/${name}`), `${packages}/${name}`);
  }
  const engine = 'node_modules/@duckdb/node-bindings';
  if (scopes.includes('@duckdb'))
    await cp(root(engine), installation.path('ripen', engine), { recursive: true });
  const cli = installation.path('ripen', 'dist', 'cli.js');
  return startProcess(process.execPath, [cli, ...argv], installation.directory).ended;
}

test.each(['sync', 'status', 'check'])(
  '%s without the package of DuckDB for this platform says what to install, once, and exits with 78',
  async (command) => {
    await installation.configure({ service, slices });
    const { code, err } = await runWithout(WITHOUT_ENGINE, [command]);
    expect(err).toContain('USAGE_INVALID: DuckDB could not be loaded: Cannot find module');
    expect(err).toContain('without --omit=optional');
    expect(err.split('\n').length).toBe(3);
    expect(code).toBe(78);
  },
);

test('sync to S3 without its client says what to install before anything is loaded, and exits with 78', async () => {
  await installation.configure({ service, slices, publish: [{ delta: 's3://bucket/lake' }] });
  const { code, err } = await runWithout(WITHOUT_S3, ['sync']);
  expect(err).toContain('USAGE_INVALID: The lake s3://bucket was not opened');
  expect(err).toContain('npm install @aws-sdk/client-s3');
  expect(code).toBe(78);
  const { out } = await installation.run(['status', '--json']);
  expect(JSON.parse(out)).toMatchObject({ runs: [] });
});

const manifest = z.object({
  dependencies: z.record(z.string(), z.string()),
  optionalDependencies: z.record(z.string(), z.string()),
});

test('the bundle imports only packages that are declared, and holds the licence of each that it includes', async () => {
  const declared = manifest.parse(JSON.parse(await readFile(root('package.json'), 'utf8')));
  const names = Object.keys({ ...declared.dependencies, ...declared.optionalDependencies });
  const imported = new Set<string>();
  for (const name of await readdir(root('dist/bundle'))) {
    if (!name.endsWith('.js')) continue;
    const code = await readFile(root(`dist/bundle/${name}`), 'utf8');
    for (const [, id = ''] of code.matchAll(
      /^(?:import|export)\b[^'"]*\bfrom ["']([^."'][^"']*)["']/gm,
    ))
      imported.add(id);
    for (const [, id = ''] of code.matchAll(/\b__require\(["']([^."'][^"']*)["']\)/g))
      imported.add(id);
  }
  const packages = [...imported].filter((id) => !id.startsWith('node:') && !isBuiltin(id));
  expect(packages).toContain('@duckdb/node-bindings');
  expect(packages.filter((id) => !names.includes(id))).toEqual([]);
  const licences = await readFile(root('dist/bundle/THIRD-PARTY-LICENSES'), 'utf8');
  for (const name of ['@duckdb/node-api', 'date-fns', 'undici', 'yaml', 'yargs', 'zod'])
    expect(licences).toMatch(new RegExp(`^${name} \\d[^ ]*, [\\w.-]+\\n\\n\\S`, 'm'));
});
