/** Cubes over nights: what is stored in long form, what of it is final, and what is requested. */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { expect, test } from 'vitest';
import * as z from 'zod';

import { planText } from '../../src/commands/plan.ts';
import { plan, status } from '../../src/index.ts';
import { day } from '../../src/model/calendar.ts';
import { agesIn, cubeMetrics } from '../../src/model/cube.ts';
import type { Config } from '../../src/config/config.ts';
import type { Slice } from '../../src/model/slice.ts';
import { reasonsText } from '../../src/report/terminal/summary-text.ts';
import { statement } from '../../src/warehouse/sql.ts';
import { column, query } from '../support/contents.ts';
import {
  askedReports,
  daysOf,
  holds,
  limitToWeeks,
  reports,
  runNight,
  smallWorld,
} from '../support/night.ts';
import { ask } from '../support/sample-warehouse.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

let scenario: Scenario;

const nightAt = (number: number): Date => new Date(Date.UTC(2026, 5, number, 2, 30));
const simulator = { world: smallWorld };

function cubeOf(
  cohorts: Readonly<Record<string, readonly string[]>>,
  change: Partial<Slice> = {},
): Slice {
  const cube = cubeMetrics(cohorts);
  return slice({
    name: 'curve',
    dimensions: ['day', 'app_token', 'network', 'country_code'],
    metrics: cube.map(({ metric }) => metric),
    cube,
    datePeriod: { first: { day: day('2026-05-01') }, last: { daysAgo: 1 } },
    ...change,
  });
}

const ages = agesIn('d0..d20') ?? [];
const curve = cubeOf({
  all_revenue_total: ages,
  retained_users: ['d0', 'd7'],
  'purchase_{age}_events_cohort': ['d0', 'd3'],
});
/** The same numbers, all of them requested each night. */
const { cube: _, ...undivided } = curve;
const wide: Slice = {
  ...undivided,
  name: 'wide',
  refresh: 'nightly',
  parameters: { ...curve.parameters, sort: 'day' },
};

const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, each) => sum + each, 0);

/** So few days that a night is quick. */
const recent = { datePeriod: { first: { day: day('2026-05-20') }, last: { daysAgo: 1 } } } as const;

const KEY = 'day, app_token, network, country_code';

/** The cells of a wide table in long form. */
const cellsOf = (table: string, { metrics }: Slice): string =>
  `unpivot (select ${KEY}, ${metrics.map((id) => `${id}::decimal(25, 6) as ${id}`).join(', ')} from ${table})
   on ${metrics.join(', ')} into name metric value value`;

/** How many cells of a cube and of the wide table differ, among those that the cube holds. */
const differing = (ending: string): string =>
  `select count(*) from curve${ending} as c left join (${cellsOf(`wide${ending}`, curve)}) as w using (${KEY}, metric)
   where c.value is distinct from w.value`;

/** Metrics times days of the report requests of each slice; the wide one sorts. */
function cellsRequested(of: Scenario): { readonly cube: number; readonly wide: number } {
  const cells = { cube: 0, wide: 0 };
  for (const { period, query: requested } of askedReports(of)) {
    const metrics = (requested.get('metrics') ?? '').split(',').length;
    cells[requested.has('sort') ? 'wide' : 'cube'] += metrics * daysOf(period);
  }
  return cells;
}

test('3 nights of a cube and of the same slice requested whole: every final row is the same, and of dense days few cells but the due ones are requested', async () => {
  // So many rows that to ask for more of them costs more than another request.
  const dense = { world: { ...smallWorld, rowsPerDay: 240 } };
  scenario = await openScenario([curve, wide], { simulator: dense });
  await runNight(scenario, nightAt(1));
  expect(await column(scenario, differing(''))).toEqual(['0']);
  scenario.simulator.requested.reset();
  for (let night = 2; night <= 3; night += 1) {
    const summary = await runNight(scenario, nightAt(night));
    expect(summary.failures).toEqual([]);
  }
  expect(await column(scenario, 'select count(*) > 5000 from curve_final')).toEqual(['true']);
  expect(await column(scenario, differing('_final'))).toEqual(['0']);
  // What is final in the wide table is final in the cube.
  const missing = `select count(*) from (${cellsOf('wide_final', curve)}) as w anti join curve_final as c using (${KEY}, metric)`;
  expect(await column(scenario, missing)).toEqual(['0']);
  const report = await status(scenario.config, { asOf: nightAt(3) });
  const shown = report.slices.find(({ name }) => name === 'curve')?.curves[0]?.points ?? [];
  const summed = `select sum("value")::double from curve where cohort = 'all_revenue_total' and age = 'd7'`;
  const [total = ''] = await column(scenario, summed);
  const ofAge7 = shown.filter(({ age_days: age }) => age === 7);
  expect(ofAge7.reduce((sum, { value }) => sum + value, 0)).toBeCloseTo(Number(total), 2);
  const { cube, wide: all } = cellsRequested(scenario);
  expect(cube).toBeGreaterThan(0);
  expect(cube / all).toBeLessThan(0.7);
}, 300_000);

test('a batch of metrics that the service refuses fails alone: the other metrics of the same days are loaded, and it is due the next night', async () => {
  const small = cubeOf({ all_revenue_total: ages, retained_users: ages }, { maxUrlBytes: 1000 });
  scenario = await openScenario([small], { simulator });
  const isLate = reports({ metrics: (metrics) => metrics.includes('all_revenue_total_d20') });
  scenario.simulator.script({
    match: isLate,
    times: 1,
    fault: { kind: 'status', status: 400, body: 'message' },
  });
  const failed = await runNight(scenario, nightAt(1));
  expect(failed.failures.map(({ code }) => code)).toEqual(['SOURCE_REFUSED']);
  expect(await column(scenario, "select count(*) > 0 from curve where age = 'd0'")).toEqual([
    'true',
  ]);
  expect(await column(scenario, "select count(*) from curve where age = 'd20'")).toEqual(['0']);
  const mended = await runNight(scenario, nightAt(2));
  expect(mended.failures).toEqual([]);
  expect(
    await query(
      scenario,
      'select count(distinct age) as ages, count(distinct day) as days from curve',
    ),
  ).toEqual([{ ages: '21', days: '32' }]);
});

test('a day of a cube that several requests load counts as one period in the plan, the summary, the events and the query for freshness', async () => {
  const small = cubeOf(
    { all_revenue_total: ages, retained_users: ages },
    { ...recent, maxUrlBytes: 1000 },
  );
  scenario = await openScenario([small], { simulator });
  expect(planText(await plan(scenario.config, { asOf: nightAt(1) }), false)).toContain(
    'never loaded, 12 periods\n',
  );
  const [first] = (await runNight(scenario, nightAt(1))).slices;
  expect(first?.windows.planned).toBeGreaterThan(2);
  expect(first?.periods).toMatchObject({ new: 12 });
  const planned = await plan(scenario.config, { asOf: nightAt(2) });
  scenario.events.length = 0;
  const [second] = (await runNight(scenario, nightAt(2))).slices;
  const fetched = `select count(distinct start_day) from ripen.periods where fetched_at = '2026-06-02 02:30'`;
  const due = Number(await column(scenario, fetched));
  const restated = Number(
    await column(scenario, 'select count(distinct period) from ripen.restatements'),
  );
  const reasons = Object.entries(second?.periods ?? {}).filter(([, periods]) => periods > 0);
  expect(sumOf(reasons.map(([, periods]) => periods))).toBe(due);
  expect(planned.slices[0]?.reasons).toEqual(Object.fromEntries(reasons));
  expect(planText(planned, false)).toContain(` ${reasonsText(planned.slices[0]?.reasons ?? {})}\n`);
  expect(second?.restated_periods).toBe(restated);
  const reported = scenario.events.flatMap((event) =>
    event.type === 'window_loaded' ? event.restated : [],
  );
  expect(new Set(reported).size).toBe(restated);
  expect(scenario.events).toContainEqual(
    expect.objectContaining({ type: 'slice_planned', periods: Object.fromEntries(reasons) }),
  );
  expect(await query(scenario, statement('examples/freshness'))).toMatchObject([
    { last_day: '2026-06-01', maturing_periods: '13', final_periods: '0' },
  ]);
});

test('under `mature`, a curve is final only once all days of its month are: May on June 16 at 14 days, not at 30; and not while a day is missing', async () => {
  const parameters = { ...curve.parameters, cohort_maturity: 'mature' };
  const small = cubeOf({ all_revenue_total: ['d0', 'd14', 'd30'] }, { parameters });
  scenario = await openScenario([small], { simulator });
  await limitToWeeks(scenario, nightAt(16));
  const isFinal = async (): Promise<unknown[]> => {
    const report = await status(scenario.config, { asOf: nightAt(16) });
    const [shown] = report.slices[0]?.curves ?? [];
    const ofMay = shown?.points.filter(({ month }) => month === '2026-05') ?? [];
    return ofMay.map(({ age_days: age, is_final: final }) => [age, final]);
  };
  const isRefused = reports({ date_period: holds('2026-05-10') });
  scenario.simulator.script({
    match: isRefused,
    times: 1,
    fault: { kind: 'status', status: 400, body: 'message' },
  });
  expect((await runNight(scenario, nightAt(16))).failures.map(({ code }) => code)).toEqual([
    'SOURCE_REFUSED',
  ]);
  expect(await isFinal()).toEqual([0, 14, 30].map((age) => [age, false]));
  expect((await runNight(scenario, nightAt(16))).failures).toEqual([]);
  expect(await isFinal()).toEqual([0, 14, 30].map((age) => [age, age < 30]));
});

test('the copies of a cube hold its rows after each of 2 nights, and the views over Delta tables its final rows', async () => {
  const small = cubeOf({ all_revenue_total: ['d0', 'd1', 'd7'], retained_users: ['d1'] }, recent);
  scenario = await openScenario([small], { simulator });
  const [folder, plain] = [join(scenario.directory, 'lake'), join(scenario.directory, 'plain')];
  const publish: Config['publish'] = [
    { kind: 'delta', path: folder, mode: 0o644, keepMs: 86_400_000 },
    { kind: 'parquet', path: plain, mode: 0o644 },
  ];
  const content = (rows: string): string =>
    `select count(*)::varchar as rows, sum(hash(${KEY}, cohort, metric, age, age_days, value))::varchar as content from ${rows}`;
  const catalog = join(folder, 'catalog.duckdb');
  for (const night of [1, 2]) {
    expect((await scenario.night(nightAt(night), { publish })).failures).toEqual([]);
    for (const table of ['curve', 'curve_final']) {
      const [stored] = await query(scenario, content(table));
      expect(Number(stored?.['rows'])).toBeGreaterThan(100);
      expect([night, table, await ask(catalog, content(table))]).toEqual([night, table, [stored]]);
      if (table.endsWith('_final')) continue;
      const files = `read_parquet('${plain}/${table}/*.parquet')`;
      expect([night, table, await ask(catalog, content(files))]).toEqual([night, table, [stored]]);
    }
    const { files } = manifestShape.parse(
      JSON.parse(await readFile(join(plain, '_manifest.json'), 'utf8')),
    );
    expect(new Set(files.map(({ path }) => path)).size).toBe(files.length);
  }
});

const manifestShape = z.object({ files: z.array(z.object({ path: z.string() })) });

test('days that left a rolling date period stay covered when all ages of a cube are replaced: the new ones are loaded of each', async () => {
  const rolling = { datePeriod: { first: { daysAgo: 3 }, last: { daysAgo: 1 } } } as const;
  const small = cubeOf({ all_revenue_total: ['d0', 'd1'], retained_users: ['d1'] }, rolling);
  scenario = await openScenario([small], { simulator });
  for (const night of [1, 4, 7]) await runNight(scenario, nightAt(night));
  const days = 'select min(day), max(day), count(distinct day) from curve';
  const before = await query(scenario, days);
  const slices = [cubeOf({ all_revenue_total: ['d2', 'd3'] }, rolling)];
  expect((await runNight(scenario, nightAt(7), { slices })).failures).toEqual([]);
  expect(await query(scenario, days)).toEqual(before);
  expect(await column(scenario, 'select distinct age from curve order by all')).toEqual([
    'd2',
    'd3',
  ]);
  expect(await column(scenario, 'select distinct age from ripen.periods order by all')).toEqual([
    'd2',
    'd3',
  ]);
  const again = await runNight(scenario, nightAt(7), { slices });
  expect(again.slices[0]?.windows.planned).toBe(0);
});

test('a cube is sorted by a metric of it in no request that may lack the metric', async () => {
  const change = { ...recent, maxUrlBytes: 1000, parameters: { sort: '-retained_users_d7' } };
  const sorted = cubeOf({ all_revenue_total: ages, retained_users: ages }, change);
  scenario = await openScenario([sorted], { simulator });
  expect((await runNight(scenario, nightAt(1))).failures).toEqual([]);
  expect(askedReports(scenario).length).toBeGreaterThan(2);
});
