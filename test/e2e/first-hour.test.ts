/** What somebody new does first, through the command line alone: the tour, a first configuration, a first query. */

import { fileURLToPath } from 'node:url';

import { beforeEach, describe, expect, test } from 'vitest';
import * as z from 'zod';

import {
  openInstallation,
  startProcess,
  TOKEN,
  type Installation,
} from '../support/installation.ts';
import { ask } from '../support/sample-warehouse.ts';
import { startSimulator } from '../support/simulator/simulator.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

let installation: Installation;

beforeEach(async () => {
  installation = await openInstallation();
});

describe('ripen init', () => {
  test('--simulator writes a configuration that checks, plans, syncs and answers a query without an account', async () => {
    const folder = installation.path('trial');
    expect((await installation.run(['init', 'trial', '--simulator'])).code).toBe(0);
    const config = installation.path('trial', 'ripen.yaml');
    const checked = await installation.run(['check', '--config', config], { RIPEN_TOKEN: '' });
    expect([checked.code, checked.err]).toStrictEqual([0, '']);
    expect(checked.out).toContain('0 errors, 0 warnings');
    const planned = await installation.run(['plan', '--config', config, '--json']);
    expect(JSON.parse(planned.out)).toMatchObject({
      slices: [{ name: 'network_daily', unfinal_periods: 60 }],
    });
    const synced = await installation.run(['sync', '--config', config, '--json', '--quiet']);
    expect(synced.code).toBe(0);
    const [answer] = await ask(
      `${folder}/analytics/analytics.duckdb`,
      'select count(distinct day)::integer as days, bool_and(cost is not null) as costs from network_daily',
    );
    expect(answer).toMatchObject({ days: 60 });
  });

  test('--from-account writes a configuration of the account, which checks and plans as it is', async () => {
    const simulator = await startSimulator({ token: TOKEN });
    const addresses = { RIPEN_BASE_URL: simulator.url, RIPEN_REPORTS_URL: simulator.url };
    const written = await installation.run(['init', 'mine', '--from-account'], addresses);
    expect([written.code, written.err]).toStrictEqual([0, '']);
    const config = installation.path('mine', 'ripen.yaml');
    expect((await installation.run(['check', '--config', config])).out).toContain(
      '0 errors, 0 warnings',
    );
    const planned = await installation.run(['plan', '--config', config, '--json']);
    expect(JSON.parse(planned.out)).toMatchObject({ slices: [{ name: 'network_daily' }, {}, {}] });
    const again = await installation.run(['init', 'mine', '--from-account'], addresses);
    expect(again.code).toBe(78);
    expect(again.err).toContain('ripen.yaml');
  });
});

describe('what is said, and how', () => {
  test('ripen alone tells its help on stderr and ends with 78', async () => {
    const { code, out, err } = await installation.run([]);
    expect([code, out]).toStrictEqual([78, '']);
    expect(err).toContain('ripen init');
  });

  test('--json ends with an object when the configuration is missing, wrong, or the arguments are refused', async () => {
    const result = async (...argv: string[]): Promise<unknown> => {
      const { code, out } = await installation.run([...argv, '--json']);
      expect(code).toBe(78);
      return JSON.parse(out);
    };
    const failed = (code: string): object => ({
      status: 'failed',
      failures: [{ code, slice: null, window: null }],
    });
    expect(await result('sync')).toMatchObject(failed('CONFIG_MISSING'));
    await installation.configure({ service: 'simulator', slises: [] });
    expect(await result('sync')).toMatchObject(failed('CONFIG_INVALID'));
    expect(await result('status')).toMatchObject(failed('CONFIG_INVALID'));
    expect(await result('snyc')).toMatchObject(failed('USAGE_INVALID'));
  });
});

test('status, plan, export, publish and its descriptions need no token; sync does', async () => {
  const day = {
    name: 'daily',
    dimensions: ['day'],
    metrics: ['installs'],
    date_period: '-3d:yesterday',
  };
  const service = {
    base_url: 'https://c.example.com',
    reports_url: 'https://r.example.com',
    token: '${RIPEN_TOKEN_2}',
  };
  const rest = {
    warehouse: 'w.duckdb',
    publish: [{ duckdb: 'a.duckdb' }, { parquet: 'lake' }],
    slices: [day],
  };
  await installation.configure({ service: 'simulator', ...rest });
  expect((await installation.run(['sync', '--quiet'])).code).toBe(0);
  await installation.configure({ service, ...rest });
  for (const words of ['status', 'plan', 'publish', 'publish --ddl duckdb', 'publish --dbt -']) {
    const { code, err } = await installation.run([...words.split(' '), '--quiet']);
    expect([words, code, err]).toStrictEqual([words, 0, '']);
  }
  const words = 'export --slice daily --output - --format csv --quiet';
  const exported = await installation.run(words.split(' '));
  expect(exported.out).toMatch(/^day,installs/);
  const table = await installation.run([
    'export',
    '--table',
    'apps',
    '--output',
    'apps.csv.gz',
    '--as-is',
  ]);
  expect([table.code, table.out]).toStrictEqual([
    0,
    expect.stringMatching(/^apps: \d+ rows written to apps\.csv\.gz/),
  ]);
  expect((await installation.run(['export', '--output', 'rows.csv'])).err).toContain(
    'Pass --slice or --table.',
  );
  expect(
    (await installation.run(['export', '--slice', 'daily', '--output', 'rows.xls'])).err,
  ).toContain('--format csv');
  const refused = await installation.run(['sync']);
  expect([refused.code, refused.err.includes('RIPEN_TOKEN_2 is not set; set it')]).toStrictEqual([
    78,
    true,
  ]);
});

test('the package holds the user pages and configuration files, and no internals, tooling or tests', async () => {
  const packed = await startProcess(
    'npm',
    ['pack', '--dry-run', '--ignore-scripts', '--json'],
    root,
  ).ended;
  const [{ files }] = z
    .tuple([z.object({ files: z.array(z.object({ path: z.string() })) })])
    .parse(JSON.parse(packed.out));
  const paths = files.map(({ path }) => path);
  expect(paths).toContain('docs/how-ripen-knows.md');
  expect(paths).toContain('config/schedules/crontab');
  expect(
    paths.filter((path) => /^(?:test|src|config\/tooling|docs\/internals)\//.test(path)),
  ).toEqual([]);
});
