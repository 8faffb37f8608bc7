/** The commands as processes: exit codes, where text goes, and what `init` and `check` write. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import module from 'node:module';
import { join } from 'node:path';

import { beforeEach, describe, expect, test } from 'vitest';
import * as z from 'zod';

import { cli, openInstallation, type Ended, type Installation } from '../support/installation.ts';

const summaryShape = z.object({
  status: z.string(),
  slices: z.array(
    z.object({
      name: z.string(),
      rows: z.object({ loaded: z.number() }),
      periods: z.record(z.string(), z.number()),
    }),
  ),
  failures: z.array(z.object({ code: z.string() })),
});

let installation: Installation;

beforeEach(async () => {
  installation = await openInstallation();
});

const ripen = (...argv: string[]): Promise<Ended> => installation.run(argv, { TZ: 'Pacific/Apia' });
const path = (...names: string[]): string => installation.path(...names);

const small = { simulator: { seed: 3, apps: 1, rows_per_day: 20, partners: 3, links: 3 } };
const daily = {
  name: 'daily',
  dimensions: ['day', 'os_name'],
  metrics: ['installs'],
  date_period: '-9d:yesterday',
};
const configure = (): Promise<void> =>
  installation.configure({
    service: small,
    warehouse: 'w.duckdb',
    partners: false,
    control: 'off',
    defaults: { reattributed: 'all' },
    slices: [daily],
  });

test('compiled code is kept in ~/.cache/ripen where Node can, for its owner alone; a start without a home, or with a folder that others can write to, keeps none', async () => {
  const version = async (HOME: string): Promise<Ended> => installation.run(['--version'], { HOME });
  const homes = [path('home'), path('shared'), path('nowhere'), '/dev/null'];
  await mkdir(path('home'));
  await mkdir(path('shared', '.cache', 'ripen'), { recursive: true });
  await chmod(path('shared', '.cache', 'ripen'), 0o777);
  for (const home of homes) {
    expect(await version(home)).toMatchObject({ code: 0, err: '' });
  }
  const files = (await installation.files()).filter((file) => file.startsWith('home/'));
  expect(files.length > 0).toBe('enableCompileCache' in module);
  expect(await installation.files()).toEqual(files);
  const folder = files[0] === undefined ? [] : ['home/.cache/ripen'];
  for (const file of [...folder, ...files]) {
    expect(file.startsWith('home/.cache/ripen')).toBe(true);
    expect((await stat(path(file))).mode & 0o077).toBe(0);
  }
  expect(await version(path('home'))).toMatchObject({ code: 0, err: '' });
});

test('--help loads neither the database, the wire, the schemas nor the simulator', async () => {
  const coverage = path('coverage');
  const { code } = await installation.run(['sync', '--help'], { NODE_V8_COVERAGE: coverage });
  expect(code).toBe(0);
  const [listed = ''] = await readdir(coverage);
  const { result } = z
    .object({ result: z.array(z.object({ url: z.string() })) })
    .parse(JSON.parse(await readFile(join(coverage, listed), 'utf8')));
  const bundled = result.filter(({ url }) => url.includes('/dist/bundle/'));
  const texts = await Promise.all(bundled.map(({ url }) => readFile(new URL(url), 'utf8')));
  expect(texts.join('\n')).toContain('node_modules/yargs/');
  expect(texts.join('\n')).not.toMatch(
    /node_modules\/(@duckdb|undici|zod|date-fns)\/|src\/simulator\/|dist\/simulator\//,
  );
});

test('--version is the version of package.json', async () => {
  const manifest = await readFile(new URL('../../package.json', import.meta.url), 'utf8');
  const { code, out } = await ripen('--version');
  expect([code, manifest.includes(`"version": "${out.trim()}"`)]).toStrictEqual([0, true]);
});

describe('exit codes and where text goes', () => {
  test('an unknown command ends with 78, its reason on stderr, nothing on stdout', async () => {
    const { code, out, err } = await ripen('snyc');
    expect([code, out]).toStrictEqual([78, '']);
    expect(err).toMatch(/^USAGE_INVALID: .*snyc.*\n {2}hint: .*`sync`/);
  });

  test('an as-of instant in the future ends with 78, as JSON when asked for', async () => {
    await configure();
    const { code, err } = await ripen('sync', '--as-of', '2999-01-01T00:00:00Z', '--log', 'json');
    expect([code, JSON.parse(err)]).toMatchObject([
      78,
      { type: 'failed', code: 'AS_OF_IN_FUTURE' },
    ]);
    expect(await installation.files()).toStrictEqual([]);
  });
});

describe('ripen init', () => {
  test('writes 4 files that check reads, and never overwrites', async () => {
    expect((await ripen('init', 'new')).code).toBe(0);
    const written = await readdir(path('new'));
    expect(written.toSorted()).toStrictEqual([
      '.env.example',
      '.gitignore',
      'ripen.schema.json',
      'ripen.yaml',
    ]);
    await writeFile(path('new', 'ripen.yaml'), '# mine');
    const again = await ripen('init', 'new');
    expect([again.code, again.err.includes('ripen.schema.json')]).toStrictEqual([78, true]);
    expect(await readFile(path('new', 'ripen.yaml'), 'utf8')).toBe('# mine');
  });

  test('writes a configuration with no mistake in it but the missing token', async () => {
    await ripen('init');
    const { code, err } = await installation.run(['sync'], { RIPEN_TOKEN: '' });
    expect([
      code,
      err.match(/ripen\.yaml:\d+/g)?.length,
      err.includes('service.token'),
    ]).toStrictEqual([78, 1, true]);
    expect((await ripen('plan')).code).toBe(0);
  });
});

describe('ripen sync', () => {
  test('ends with the summary as the last line of stdout, and status and plan agree with it', async () => {
    await configure();
    const { code, out } = await ripen('sync', '--json');
    expect(code).toBe(0);
    const summary = summaryShape.parse(JSON.parse(out.trim().split('\n').at(-1) ?? ''));
    const loaded = [{ name: 'daily', periods: { new: 9 } }];
    expect(summary).toMatchObject({ status: 'succeeded', failures: [], slices: loaded });
    expect(JSON.parse((await ripen('status', '--json')).out)).toMatchObject({
      slices: [
        { rows: summary.slices[0]?.rows.loaded, periods: { expected: 9, loaded: 9, missing: 0 } },
      ],
      runs: [{ command: 'sync', status: 'succeeded', exit_code: 0 }],
    });
    expect(JSON.parse((await ripen('plan', '--json')).out)).toMatchObject({
      requests: 0,
      slices: [{ windows: [] }],
    });
  });

  test('--quiet leaves stderr empty; then --log json puts one object an event there', async () => {
    await configure();
    const { code, out, err } = await ripen('sync', '--quiet');
    expect([code, err, out.includes('succeeded')]).toStrictEqual([0, '', true]);
    const lines = (await ripen('sync', '--log', 'json')).err.trim().split('\n');
    const event = z.object({ at: z.iso.datetime(), type: z.string() });
    const types = lines.map((line) => event.parse(JSON.parse(line)).type);
    expect([types.at(0), types.at(-1)]).toStrictEqual(['run_started', 'run_finished']);
  });

  test('backfill replaces the 2 days it is given', async () => {
    await configure();
    const words = 'backfill --slice daily --from 2026-01-01 --to 2026-01-02 --json';
    const { code, out } = await ripen(...words.split(' '));
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      slices: [{ windows: { loaded: 1 }, periods: { forced: 2 } }],
    });
  });
});

test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)('%s ends the simulator with %i', async (signal, code) => {
  const child = spawn(process.execPath, [cli, 'simulator', '--json']);
  await once(child.stdout, 'data');
  child.kill(signal);
  await once(child, 'exit');
  expect(child.exitCode).toBe(code);
});
