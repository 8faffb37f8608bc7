/** The quick tests and the packed file under every version of Node that is supported, installed as its users install it. */

import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { nodes, pnpm, yarn } from '../../config/tooling/install-nodes.ts';
import { startProcess, type Ended } from '../support/installation.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
/** How the machine reaches the registry. */
const network = Object.fromEntries(
  ['NODE_EXTRA_CA_CERTS', 'HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY', 'npm_config_registry'].flatMap(
    (name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]]),
  ),
);
const newest = nodes.at(-1)?.path ?? process.execPath;

let directory: string;
let packed: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'ripen-nodes-'));
  await done(startProcess('npm', ['pack', '--pack-destination', directory], root).ended);
  const [file = ''] = await readdir(directory);
  packed = join(directory, file);
});

afterAll(() => rm(directory, { recursive: true }));

async function done(ended: Promise<Ended>): Promise<string> {
  const { code, out, err } = await ended;
  expect(code, `${out}\n${err}`).toBe(0);
  return out;
}

/** Makes an empty folder with a manifest in which a program runs under one version of Node. */
async function folder(name: string, node: string, manifest: object = {}) {
  const path = join(directory, name);
  await mkdir(path);
  await writeFile(join(path, 'package.json'), JSON.stringify({ private: true, ...manifest }));
  const environment = { ...network, PATH: `${dirname(node)}:${process.env['PATH']}`, HOME: path };
  return {
    path,
    run: async (program: string, ...argv: string[]): Promise<string> =>
      done(startProcess(program, argv, path, environment).ended),
  };
}

describe.each([{ version: process.versions.node, path: process.execPath }, ...nodes])(
  'Node $version',
  ({ version, path: node }) => {
    test('passes the quick tests', async () => {
      const argv = ['node_modules/vitest/vitest.mjs', 'run'];
      const config = ['--config', 'config/tooling/vitest.quick.config.ts'];
      const out = await done(
        startProcess(node, [...argv, ...config], root, { NO_COLOR: '1' }).ended,
      );
      expect(out).toMatch(/Tests +\d+ passed \(\d+\)/);
    });

    test('runs the tour from a package that npm installed, with no package beside it that is bundled', async () => {
      const { path, run } = await folder(`npm-${version}`, node);
      await run('npm', 'install', '--no-audit', '--no-fund', packed);
      const installed = await readdir(join(path, 'node_modules'));
      expect(installed.filter((name) => /^(undici|yargs|yaml|date-fns)$/.test(name))).toEqual([]);
      expect(await run(node, 'node_modules/ripen/dist/cli.js', 'demo')).toContain('network_daily');
    });
  },
);

test('a package that pnpm installed makes a first warehouse', async () => {
  const { run } = await folder('pnpm', newest);
  await run(newest, pnpm, 'add', packed);
  await run(newest, pnpm, 'exec', 'ripen', 'init', '.', '--simulator');
  expect(await run(newest, pnpm, 'exec', 'ripen', 'sync')).toContain('network_daily');
});

test("a package that Yarn installed with Plug'n'Play makes a first warehouse", async () => {
  const { path, run } = await folder('yarn', newest, {
    dependencies: { ripen: `file:${packed}` },
  });
  await writeFile(join(path, '.yarnrc.yml'), 'enableTelemetry: false\nnodeLinker: pnp\n');
  await writeFile(join(path, 'yarn.lock'), '');
  await run(newest, yarn, 'install');
  await run(newest, yarn, 'ripen', 'init', '.', '--simulator');
  expect(await run(newest, yarn, 'ripen', 'sync')).toContain('network_daily');
});
