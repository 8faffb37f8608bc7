/** FAULTS, intruders: hostile configurations, arguments and surroundings; the rights of every file. */

import { readFileSync, statSync } from 'node:fs';
import { chmod, mkdir, readdir, symlink, writeFile } from 'node:fs/promises';

import { beforeEach, describe, expect, test } from 'vitest';

import { startSimulator, type Simulator } from '../support/simulator/simulator.ts';
import {
  cli,
  openInstallation,
  serviceAt,
  startProcess,
  TOKEN,
  type Installation,
} from '../support/installation.ts';

/** For a test that starts a dozen processes, one after the other, on a busy machine. */
const MANY_PROCESSES_MS = 180_000;

const AS_OF = ['--as-of', '2026-02-14T02:30:00Z'];

let simulator: Simulator;
let installation: Installation;

beforeEach(async () => {
  const world = { seed: 3, listed: [], apps: 1, partners: 2, links: 4, rowsPerDay: 12 };
  simulator = await startSimulator({ token: TOKEN, world, now: new Date('2026-02-14T02:30:00Z') });
  installation = await openInstallation();
});

const daily = {
  name: 'daily',
  dimensions: ['day'],
  metrics: ['installs'],
  date_period: '-3d:yesterday',
};

const settings = (change: object = {}): object => ({
  service: serviceAt(simulator.url),
  warehouse: 'data/warehouse.duckdb',
  partners: false,
  slices: [daily],
  ...change,
});

const withService = (change: object): object =>
  settings({ service: { ...serviceAt(simulator.url), ...change } });

const configureText = (text: string): Promise<void> =>
  writeFile(installation.path('ripen.yaml'), text);

/** Syncs a configuration that must be refused before anything is requested or written; returns what was said. */
async function refused(environment: Readonly<Record<string, string>> = {}): Promise<string> {
  const { code, out, err } = await installation.run(['sync', ...AS_OF], environment);
  expect([code, out]).toStrictEqual([78, '']);
  expect(simulator.requested.requests).toHaveLength(0);
  expect(await installation.files()).toStrictEqual([]);
  expect(err).toContain('CONFIG_INVALID');
  expect(err).not.toContain(TOKEN);
  return err;
}

test('NODE_TLS_REJECT_UNAUTHORIZED=0 is refused', async () => {
  await installation.configure(settings());
  expect(await refused({ NODE_TLS_REJECT_UNAUTHORIZED: '0' })).toContain(
    'turns off the checking of certificates',
  );
});

test(
  'what is sent to the service is GET alone in a sync, a backfill, a check, and every command that shows or publishes',
  async () => {
    const publish = [{ duckdb: 'out/snapshot.duckdb' }, { parquet: 'out/lake' }];
    await installation.configure(
      settings({ publish, partners: true, links: { apps: 'all' }, archive: '30d' }),
    );
    const app = simulator.world.apps[0]?.token ?? '';
    const commands = [
      ['sync', ...AS_OF],
      ['backfill', '--slice', 'daily', '--from', '2026-02-11', '--to', '2026-02-12', ...AS_OF],
      ['check', ...AS_OF],
      ['plan', ...AS_OF],
      ['status', ...AS_OF],
      ['replay'],
      ['publish'],
      ['export', '--slice', 'daily', '--output', 'daily.csv'],
      ['catalog'],
      ['partners'],
      ['links', 'list', '--app', app],
    ];
    for (const argv of commands)
      expect([argv[0], (await installation.run(argv)).code]).toStrictEqual([argv[0], 0]);
    const { requests } = simulator.requested;
    expect(requests.length).toBeGreaterThan(10);
    expect([...new Set(requests.map(({ method }) => method))]).toStrictEqual(['GET']);
    expect(requests.map(({ path, query }) => path + query).join()).not.toContain(
      encodeURIComponent(TOKEN),
    );
  },
  MANY_PROCESSES_MS,
);

test('a token given as an option is refused unread', async () => {
  await installation.configure(settings());
  for (const argv of [['--token', TOKEN], [`--service.token=${TOKEN}`]]) {
    const { code, out, err } = await installation.run(['sync', ...argv]);
    expect([code, out]).toStrictEqual([78, '']);
    expect(err).toMatch(/^USAGE_INVALID: .*Unknown argument/);
    expect(err).not.toContain(TOKEN);
  }
});

describe('the configuration', () => {
  const named = [
    '../../evil',
    'a/b',
    '.hidden',
    'a\\b',
    'a b',
    'a\u0000b',
    'data.parquet',
    '-rf',
    'nul:',
    'ripen.runs',
  ];

  test(`a slice name that could be a path or more than a name is refused, all ${named.length} at once`, async () => {
    await installation.configure(settings({ slices: named.map((name) => ({ ...daily, name })) }));
    const said = await refused();
    for (const index of named.keys()) expect(said).toContain(`slices[${index}].name`);
    expect(said.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
  });

  test('code tags are refused, and an alias bomb of 10 to the 9th is not unfolded', async () => {
    const given = JSON.stringify(settings()).slice(1);
    await configureText(`{ "links": !!js/function 'function () {}', ${given}`);
    expect(await refused()).toContain('tag');
    const bomb = Array.from({ length: 9 }, (_, level) => {
      const of = level === 0 ? '"lol"' : `*a${level - 1}`;
      return `a${level}: &a${level} [${Array(10).fill(of).join(', ')}]`;
    });
    await configureText(`${bomb.join('\n')}\nslices: *a8\n`);
    expect((await refused()).length).toBeLessThan(10_000);
  });

  test.each<[string, (token: string) => object]>([
    ['under a misspelt key', (token) => withService({ tokn: token, token: undefined })],
    [
      'as a token file that is not there',
      (token) => withService({ token_file: token, token: undefined }),
    ],
    [
      'in an address',
      (token) =>
        withService({ base_url: `https://user:${encodeURIComponent(token)}@campaign.example.com` }),
    ],
    ['with a line break', (token) => withService({ token: `${token}\n` })],
  ])('a token written into the file %s is not repeated', async (_, settingsWith) => {
    await installation.configure(settingsWith(TOKEN));
    const said = await refused();
    expect(said).not.toContain(encodeURIComponent(TOKEN));
  });
});

const rights = (...names: string[]): string =>
  (statSync(installation.path(...names)).mode & 0o777).toString(8);

describe('the rights of files', () => {
  /** Runs a sync as on a host that gives every new file to everyone. */
  const wideOpen = (command: string, ...argv: string[]) =>
    startProcess(
      'bash',
      ['-c', 'umask 000; exec "$@"', 'bash', process.execPath, cli, command, ...argv],
      installation.directory,
    );

  test('under umask 000 what is private is 0600 in 0700 also while a run is under way, and copies are as configured', async () => {
    await mkdir(installation.path('data'));
    const publish = [{ duckdb: 'out/snapshot.duckdb', mode: '0640' }, { parquet: 'out/lake' }];
    await installation.configure(settings({ publish, archive: '30d' }));
    simulator.script({
      match: ({ path }) => path.endsWith('/report'),
      times: 1,
      fault: { kind: 'drip', bytes: 1, everyMs: 20 },
    });
    const running = wideOpen('sync', '--verbose', ...AS_OF);
    const spool = 'warehouse.duckdb.spool';
    await running.until('daily: 3 periods due');
    const seen = new Set<string>();
    while (seen.size === 0) {
      const names = await readdir(installation.path('data', spool)).catch(() => []);
      for (const name of names) seen.add(rights('data', spool, name));
    }
    expect([...seen]).toStrictEqual(['600']);
    expect(rights('data', spool)).toBe('700');
    const during = (await readdir(installation.path('data'))).filter((name) => name !== spool);
    expect(during.map((name) => [name, rights('data', name)])).toStrictEqual(
      during.map((name) => [
        name,
        name.endsWith('.archive') || name.endsWith('.tmp') ? '700' : '600',
      ]),
    );
    expect((await running.ended).code).toBe(0);

    const files = await installation.files();
    const modes = files.map((file) => [file, rights(file)]);
    const expected = files.map((file) => {
      if (file.startsWith('data/')) return [file, '600'];
      return [file, file.endsWith('snapshot.duckdb') ? '640' : '644'];
    });
    expect(modes).toStrictEqual(expected);
    expect(files.filter((file) => file.includes('.archive/')).length).toBeGreaterThan(0);
    expect(rights('data', 'warehouse.duckdb.archive')).toBe('700');
    expect(rights('out', 'lake', 'daily')).toBe('755');
  });

  test('a link in the place of the spool is not followed: what it leads to stays', async () => {
    await mkdir(installation.path('data'));
    await mkdir(installation.path('precious'));
    await writeFile(installation.path('precious', 'file'), 'kept');
    await chmod(installation.path('precious'), 0o755);
    await symlink(
      installation.path('precious'),
      installation.path('data', 'warehouse.duckdb.spool'),
    );
    await installation.configure(settings());
    expect((await installation.run(['sync', ...AS_OF])).code).toBe(0);
    expect(await readdir(installation.path('precious'))).toStrictEqual(['file']);
    expect(readFileSync(installation.path('precious', 'file'), 'utf8')).toBe('kept');
    expect(await readdir(installation.path('data'))).toStrictEqual(['warehouse.duckdb']);
  });
});
