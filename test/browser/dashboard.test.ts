/**
 * The dashboard of `config/bi`, built by its two commands from the snapshot of the tour, in a browser: what it shows is
 * what the warehouse holds, and nothing comes from elsewhere.
 */

import { execFile } from 'node:child_process';
import { cp, mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';

import { browserFolder } from '../../config/tooling/install-browser.ts';
import {
  openBrowser,
  openTour,
  serveFolder,
  windows,
  type Browser,
  type Page,
} from '../support/browser.ts';
import type { Installation } from '../support/installation.ts';
import { ask } from '../support/sample-warehouse.ts';

const run = promisify(execFile);
const source = fileURLToPath(new URL('../../config/bi/', import.meta.url));
/** Its packages are installed once. */
const dashboard = join(browserFolder, 'dashboard');
const large = { width: 1200, scheme: 'light' } as const;

let browser: Browser;
let installation: Installation;
let site: Awaited<ReturnType<typeof serveFolder>>;

const inDashboard = async (
  environment: Record<string, string>,
  ...words: string[]
): Promise<string> => {
  const { stdout, stderr } = await run('npm', words, {
    cwd: dashboard,
    env: { ...process.env, OBSERVABLE_TELEMETRY_DISABLE: 'true', ...environment },
  });
  return stdout + stderr;
};
const build = (): Promise<string> =>
  inDashboard({ RIPEN_SNAPSHOT: installation.path('data', 'analytics.duckdb') }, 'run', 'build');

beforeAll(async () => {
  installation = await openTour();
  await mkdir(dashboard, { recursive: true });
  await rm(join(dashboard, 'src'), { recursive: true, force: true });
  await cp(source, dashboard, { recursive: true });
  await inDashboard({}, 'install', '--no-audit', '--no-fund');
  await build();
  site = await serveFolder(join(dashboard, 'dist'));
  browser = await openBrowser();
});
afterAll(async () => {
  await browser.close();
  await site.close();
  await installation.close();
});

const held = async (sql: string): Promise<Record<string, unknown>[]> =>
  ask(installation.path('data', 'warehouse.duckdb'), sql);

const texts = z.array(z.string());
/** The cells of the rows of a table, or the words of each mark. */
const tableOf = async (page: Page, selector: string): Promise<string[][]> =>
  z
    .array(texts)
    .parse(
      await page.value(
        `[...document.querySelectorAll('${selector} tbody tr')].map((row) => [...row.cells].map((cell) => cell.textContent))`,
      ),
    );
const wordsOf = async (page: Page, selector: string): Promise<string[]> =>
  texts.parse(
    await page.value(
      `[...document.querySelectorAll('${selector}')].map((each) => each.textContent)`,
    ),
  );

const amount = (value: unknown): string =>
  value === null ? '–' : Number(value).toLocaleString('en-US', { maximumFractionDigits: 0 });
const ratio = (value: unknown): string => (value === null ? '–' : Number(value).toFixed(3));

/** Whether a metric of a day is final, as the ledger says. */
const isFinal = (metric: string): string =>
  `(select f.is_final from ripen.finality as f where f.slice = 'network_daily' and f.metric = '${metric}' and f.period = d.day)`;
const daysSql = (where = 'true'): string => `with d as (
    select day, sum(cost) as spend, sum(all_revenue_total_d30) as revenue,
        sum(all_revenue_total_d30) filter (network in (select network from network_daily where cost > 0)) as paid
    from network_daily where ${where} group by day)
  select day::varchar as day, spend::double as spend, revenue::double as revenue, (paid / nullif(spend, 0))::double as returned,
    paid::double as paid, ${isFinal('cost')} as spend_final, ${isFinal('all_revenue_total_d30')} as revenue_final
  from d order by day`;

const standing = (final: unknown): string => (final === true ? 'final' : 'not final yet');

async function expectDays(page: Page, where?: string): Promise<void> {
  const days = await held(daysSql(where));
  const both = days.map((day) => day['spend_final'] === true && day['revenue_final'] === true);
  expect(await wordsOf(page, '#spend rect title')).toStrictEqual(
    days.map(
      (day) => `${String(day['day'])}: ${amount(day['spend'])}, ${standing(day['spend_final'])}`,
    ),
  );
  expect(await wordsOf(page, '#revenue rect title')).toStrictEqual(
    days.map(
      (day) =>
        `${String(day['day'])}: ${amount(day['revenue'])}, ${standing(day['revenue_final'])}`,
    ),
  );
  expect(await wordsOf(page, '#return circle title')).toStrictEqual(
    days.map(
      (day, index) => `${String(day['day'])}: ${ratio(day['returned'])}, ${standing(both[index])}`,
    ),
  );
  const sum = (
    name: string,
    of: (day: Record<string, unknown>, index: number) => boolean,
  ): number => days.filter(of).reduce((total, day) => total + Number(day[name]), 0);
  const parts = (name: string): string =>
    `${amount(sum(name, (day) => day[`${name}_final`] === true))} final, ${amount(sum(name, (day) => day[`${name}_final`] !== true))} not final yet`;
  const settled = (_: unknown, index: number): boolean => both[index] === true;
  expect(await wordsOf(page, '.card:is(#spend, #revenue) p')).toStrictEqual([
    parts('spend'),
    parts('revenue'),
  ]);
  expect(await wordsOf(page, '#return p')).toStrictEqual([
    expect.stringMatching(`^${ratio(sum('paid', settled) / sum('spend', settled))} on days`),
  ]);
}

test.each(windows)(
  'at $width px, $scheme, has no error and nothing cut, covered, pale or beside the window',
  async (of) => {
    const page = await browser.open(site.url, of);
    const found = await page.inspect();
    await page.picture('dashboard');
    await page.close();
    expect(page.errors).toStrictEqual([]);
    expect(found.complaints).toStrictEqual([]);
    expect(found.texts).toBeGreaterThan(150);
    expect(found.marks).toBeGreaterThan(200);
  },
);

test('102 days of spend, revenue and return are what the warehouse holds, those that are not final hatched or hollow', async () => {
  const page = await browser.open(site.url, large);
  await expectDays(page);
  const hatched = await page.value(
    `[...document.querySelectorAll('#spend rect')].filter((bar) => (bar.getAttribute('fill') ?? '').startsWith('url') !== bar.textContent.endsWith('not final yet')).length`,
  );
  expect(hatched).toBe(0);
  expect((await wordsOf(page, '#spend rect[fill^=url] title')).length).toBe(14);
  expect((await wordsOf(page, '#revenue rect[fill^=url] title')).length).toBe(31);
  expect((await wordsOf(page, '#return circle[fill=none] title')).length).toBe(31);
  await page.close();
});

test('a chosen network leaves its days alone', async () => {
  const page = await browser.open(site.url, large);
  const option = await page.value(
    `[...document.querySelectorAll('option')].find(({ text }) => text === 'Northwind').value`,
  );
  await page.choose('select', String(option));
  await page.value('new Promise((resolve) => setTimeout(resolve, 300))');
  await expectDays(page, `network = 'Northwind'`);
  expect(page.errors).toStrictEqual([]);
  await page.close();
});

test('cohorts, networks and metrics are what the warehouse holds', async () => {
  const page = await browser.open(site.url, large);
  const ages = [0, 7, 14, 30];
  const points = await held(
    ages
      .map(
        (age) => `select strftime(d.day, '%Y-%m') as month, ${age} as age,
          (sum(d.all_revenue_total_d${age}) / sum(d.installs))::double as value
        from network_daily as d group by month
        having bool_and(${isFinal(`all_revenue_total_d${age}`)}) and count(distinct d.day) = day(last_day(min(d.day)))`,
      )
      .join(' union all ') + ' order by month, age',
  );
  // At least the youngest ages of a whole month, whatever the day of the year.
  expect(points.length).toBeGreaterThan(1);
  expect(await wordsOf(page, '#cohorts circle title')).toStrictEqual(
    points.map(({ month, age, value }) => `${String(month)}, ${String(age)} days: ${ratio(value)}`),
  );
  const both = (one: string, other: string): string =>
    `(case when ${isFinal(one)} and ${isFinal(other)} then 1 end)`;
  const returned = (top: string, below: string): string =>
    `(sum(d.${top} * ${both(top, below)}) / nullif(sum(case when d.${top} is not null then d.${below} * ${both(top, below)} end), 0))::double`;
  const networks = await held(
    `select network, partner_name as partner, sum(case when ${isFinal('cost')} then cost end)::double as spend,
        sum(case when ${isFinal('installs')} then installs end)::double as installs,
        ${returned('cost', 'installs')} as cpi, ${returned('all_revenue_total_d7', 'cost')} as d7, ${returned('all_revenue_total_d30', 'cost')} as d30
     from network_daily as d group by all order by spend desc nulls last, network, partner`,
  );
  expect(networks.length).toBeGreaterThan(10);
  expect(await tableOf(page, '#networks')).toStrictEqual(
    networks.map((of) => [
      of['network'],
      of['partner'],
      amount(of['spend']),
      amount(of['installs']),
      ratio(of['cpi']),
      ratio(of['d7']),
      ratio(of['d30']),
    ]),
  );
  const metrics = await held(
    `select f.metric, max(period) filter (where is_final)::varchar as until, count(*)::double as cells, (100 * avg(is_final::integer)) as share
     from ripen.finality as f join ripen.slice_metrics as m on m.slice = f.slice and m.metric = f.metric
     where f.slice = 'network_daily' group by f.metric, m.position order by m.position`,
  );
  expect(await tableOf(page, '#finality')).toStrictEqual(
    metrics.map((of) => [
      of['metric'],
      of['until'],
      amount(of['cells']),
      `${Number(Number(of['share']).toFixed(1))}%`,
    ]),
  );
  expect(await wordsOf(page, '#spend h2')).toStrictEqual(['Spend by day, USD']);
  await page.close();
});

test('a snapshot that is not there fails the build by its name; the next build reads what was published since', async () => {
  const missing = installation.path('nowhere.duckdb');
  const failed = inDashboard({ RIPEN_SNAPSHOT: missing }, 'run', 'build');
  await expect(failed).rejects.toThrow(missing);
  const night = installation.path('night.duckdb');
  await cp(installation.path('data', 'analytics.duckdb'), night);
  const instance = await DuckDBInstance.create(night);
  const connection = await instance.connect();
  await connection.run(
    'update network_daily set cost = 1000 where day = (select min(day) from network_daily)',
  );
  connection.closeSync();
  instance.closeSync();
  await rename(night, installation.path('data', 'analytics.duckdb'));
  await build();
  const page = await browser.open(site.url, large);
  const [first] = await ask(
    installation.path('data', 'analytics.duckdb'),
    'select (1000 * count(*))::double as spend from network_daily group by day order by day limit 1',
  );
  expect((await wordsOf(page, '#spend rect title'))[0]).toMatch(
    new RegExp(`: ${amount(first?.['spend'])}, final$`),
  );
  await page.close();
});
