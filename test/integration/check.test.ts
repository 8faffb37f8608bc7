/** `ripen check` as it is called: a file, a service on loopback, a warehouse; everything told at once. */

import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';
import * as z from 'zod';

import { catalogFilters } from '../../src/model/catalog.ts';
import type { Slice } from '../../src/model/slice.ts';
import { warehouseFindings } from '../../src/report/check/warehouse.ts';
import { checkingAt } from '../support/checking.ts';
import { smallWorld } from '../support/night.ts';
import { openScenario } from '../support/scenario.ts';
import { dailyInstalls, slice } from '../support/slice.ts';
import { json, startScriptedServer, type Script } from '../support/scripted-server.ts';
import { carriedOut, recordedShell } from '../unit/cli-recorded-shell.ts';

const finding = z.object({
  severity: z.enum(['error', 'warning', 'note', 'works', 'untried']),
  code: z.string().nullable(),
  slice: z.string().nullable(),
  setting: z.string().nullable(),
  place: z.string().nullable(),
  message: z.string(),
  hint: z.string().nullable(),
});

type Found = z.output<typeof finding>;

const ids: Readonly<Record<string, readonly string[]>> = {
  overview_metrics: ['installs', 'clicks'],
  dimensions: ['day', 'app_token', 'os_name'],
  os_names: ['ios', 'android'],
  apps: ['abc123def456'],
  attribution_source: ['dynamic'],
  attribution_type: ['all'],
  cohort_maturity: ['immature'],
};

/** Every list with something in it, so that none of them is silent. */
const catalog = Object.fromEntries(
  catalogFilters.map((filter) => [
    filter,
    (ids[filter] ?? [`some_${filter}`]).map((id) => ({ id, name: id })),
  ]),
);
const partners = { data: { items: [], paging: { cursors: { after: null }, next: null } } };
const working: Script = ({ path }) => json(path.endsWith('/partners') ? partners : catalog);

const NOW = new Date('2026-06-01T02:30:00Z');

const origin = async (script: Script): Promise<string> =>
  (await startScriptedServer(script)).origin;

const serviceAt = (reports: string, campaign = reports): string =>
  `service: { base_url: "${campaign}", reports_url: "${reports}", token: marked-token }\nwarehouse: w.duckdb\n`;

interface Result {
  readonly code: number;
  readonly found: readonly Found[];
  /** What lies in the directory afterwards. */
  readonly files: readonly string[];
}

async function run(text: string): Promise<Result> {
  const directory = await mkdtemp(join(tmpdir(), 'ripen-check-'));
  await writeFile(join(directory, 'ripen.yaml'), text);
  const shell = recordedShell({ directory });
  const code = await carriedOut(shell, 'check', '--quiet', '--json');
  const { findings } = z
    .object({ findings: z.array(finding) })
    .parse(JSON.parse(shell.printed.join('')));
  const files = await readdir(directory);
  await rm(directory, { recursive: true });
  return { code, found: findings, files };
}

const severe = (found: readonly Found[]): string[] =>
  found
    .filter(({ severity }) => severity === 'error' || severity === 'warning')
    .map(({ severity, place, code }) => `${place ?? ''} ${code ?? severity}`)
    .toSorted();

const SLICES = `slices:
  - name: daily
    dimensions: [day, contry_code]
    metrics: [installs, instals]
    date_period: 2026-01-01:2026-02-28
    filters: { os_name__in: [IOS], clicks__gte: 5 }
    refresh: nightly
    reattributed: all
  - name: other
    dimensions: [day]
    metrics: [clicsk, installs]
    date_period: yesterday
`;

describe('in one round', () => {
  test('what works is said beside what was not tried', async () => {
    const sound =
      'slices: [{ name: a, dimensions: [day], metrics: [installs], date_period: yesterday, reattributed: all }]';
    const { found } = await run(`${serviceAt(await origin(working))}${sound}`);
    const of = (wanted: string): string[] =>
      found
        .filter(({ severity }) => severity === wanted)
        .map(({ message }) => message.replace(/[\d.]+ GB/, '9 GB'));
    expect(of('works')).toEqual(
      expect.arrayContaining(['token accepted', '9 GB free', '1 slice, 1 metric known']),
    );
    expect(of('untried')).toContain('a report, ad spend');
  });

  test('4 things that filters-data knows better are told, each at its place', async () => {
    const { code, found, files } = await run(`${serviceAt(await origin(working))}${SLICES}`);
    expect(severe(found)).toEqual(
      [
        'ripen.yaml:5:23 warning',
        'ripen.yaml:6:25 SOURCE_REFUSED',
        'ripen.yaml:8:30 warning',
        'ripen.yaml:11:5 warning',
        'ripen.yaml:13:15 SOURCE_REFUSED',
      ].toSorted(),
    );
    expect(code).toBe(78);
    expect(files).toEqual(['ripen.yaml']);
  });

  test('a refused token is one error, whose remedy names the line of the token as that of a run does', async () => {
    const { code, found } = await run(
      `${serviceAt(await origin(() => ({ status: 401, body: '' })))}slices: []`,
    );
    expect([code, severe(found)]).toEqual([
      78,
      [expect.stringMatching(/^ripen\.yaml:1:\d+ CREDENTIALS_REFUSED$/)],
    ]);
    expect(found.find(({ severity }) => severity === 'error')?.hint).toMatch(
      /^Set service\.token \(.*ripen\.yaml:1\)/,
    );
  });

  test('a slice that leaves out reattributed is warned of it and of the other 3 parameters that are left to the service', async () => {
    const slices =
      'slices: [{ name: a, dimensions: [day], metrics: [installs], date_period: yesterday }]';
    const { found } = await run(`${serviceAt(await origin(working))}${slices}`);
    const told = found.filter(({ setting }) => setting === 'slices[0]');
    const message =
      "left to the service's own default: ad_spend_mode, currency, iap_revenue_mode, reattributed";
    expect(told).toMatchObject([{ severity: 'warning', message }]);
  });
});

describe.concurrent('a service that is not there', () => {
  const lasting = async (text: string) => {
    const startedAt = performance.now();
    const result = await run(text);
    return { ...result, seconds: (performance.now() - startedAt) / 1000 };
  };
  test.each<[string, Script | null]>([
    ['refuses connections', null],
    ['never answers', () => 'hang'],
    ['is unavailable for ever', () => ({ status: 503 })],
    ['asks to come back in 5 min', () => ({ status: 503, headers: { 'retry-after': '300' } })],
  ])(
    'and %s is told within 18 s, with everything that can be told without it',
    async (_, script) => {
      const address = script === null ? 'http://127.0.0.1:9' : await origin(script);
      const { seconds, code, found } = await lasting(
        `${serviceAt(address)}partners: true\n${SLICES}`,
      );
      expect(seconds).toBeLessThan(18);
      expect(code).toBe(75);
      expect(found.some(({ place }) => place === 'ripen.yaml:12:5')).toBe(true);
      const dead = found.filter(({ code: told }) => told === 'SOURCE_UNAVAILABLE');
      expect(
        dead.map(({ setting, place }) => `${setting ?? ''} ${place?.replace(/\d+$/, '') ?? ''}`),
      ).toEqual(['service.reports_url ripen.yaml:1:', 'service.base_url ripen.yaml:1:']);
    },
    25_000,
  );
});

test('what the warehouse keeps unasked is told, and what a change will cost, also beside a slice that would be refused', async () => {
  const daily = dailyInstalls({ first: { daysAgo: 5 }, last: { daysAgo: 1 } });
  const other = slice({ ...daily, name: 'other' });
  const scenario = await openScenario([daily, other], { simulator: { world: smallWorld } });
  const { slices } = await scenario.night(NOW);
  const found = async (configured: readonly Slice[]): Promise<unknown> =>
    (await warehouseFindings({ ...scenario.config, slices: configured }, checkingAt(NOW)))
      .filter(({ severity }) => severity !== 'works')
      .map(({ severity, slice: name, message, hint }) => [severity, name, message, hint]);
  const rows = slices.find(({ name }) => name === 'other')?.rows.loaded ?? 0;
  expect(rows).toBeGreaterThan(0);
  const added = (what: string): unknown =>
    expect.stringContaining(`metrics were added (clicks): ${what}`);
  expect(await found([daily, other])).toEqual([]);
  expect(await found([daily])).toEqual([
    [
      'warning',
      'other',
      'it is no longer configured; its data is kept',
      'To remove it, run `ripen drop --slice other`.',
    ],
  ]);
  const clicks = { ...other.parameters, attribution_type: 'click' };
  const again = async (change: Partial<Slice>) => found([daily, slice({ ...other, ...change })]);
  expect(
    await again({
      dimensions: ['app_token', 'day'],
      parameters: { ...other.parameters, sort: 'day' },
    }),
  ).toEqual([]);
  expect(await again({ parameters: clicks })).toEqual([
    [
      'warning',
      'other',
      expect.stringContaining(`5 periods with about ${rows} rows will be requested again`),
      expect.any(String),
    ],
  ]);
  expect(await again({ parameters: clicks, retainDays: 2 })).toEqual([
    ['warning', 'other', expect.stringContaining('2 periods with'), expect.any(String)],
  ]);
  const metrics = ['installs', 'clicks'];
  expect(await again({ metrics, retainDays: 2 })).toEqual([
    ['note', 'other', added('2 periods with'), expect.any(String)],
  ]);
  expect(await again({ metrics })).toEqual([
    [
      'note',
      'other',
      added(`5 periods with about ${rows} rows will be requested again`),
      expect.any(String),
    ],
  ]);
  const undated = slice({ ...daily, grain: null, dimensions: ['app_token'] });
  expect(await found([undated, slice({ ...other, metrics })])).toEqual([
    [
      'error',
      'daily',
      expect.stringContaining('it no longer has a date dimension'),
      expect.any(String),
    ],
    ['note', 'other', added('5 periods with'), expect.any(String)],
  ]);
});
