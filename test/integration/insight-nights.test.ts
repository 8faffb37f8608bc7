/** How a slice ripens, night after night through the whole pipeline: what the warehouse then says of its unfinal values. */

import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';

import { FEWEST_PERIODS, median } from '../../src/insight/development.ts';
import { readHistories, type RipeningHistory } from '../../src/insight/read-developments.ts';
import { addDays, day, daysBetween, type Day } from '../../src/model/calendar.ts';
import { fingerprintOf, type Slice } from '../../src/model/slice.ts';
import { metricOf } from '../../src/model/metric.ts';
import { createWorld } from '../support/simulator/world.ts';
import type { StatusReport } from '../../src/status/status-report.ts';
import { readStatus } from '../../src/status/status.ts';
import { statusText } from '../../src/terminal/status-text.ts';
import { count, dayShape, statement } from '../../src/warehouse/sql.ts';
import { openWarehouse } from '../../src/warehouse/opening.ts';
import type { Warehouse } from '../../src/warehouse/warehouse.ts';
import { askWorld } from '../bench/nights/reported-rows.ts';
import { column } from '../support/contents.ts';
import { runNight } from '../support/night.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

/** A history is loaded in the first night, and ripens from then on. */
const HISTORY_DAYS = 69;
const NIGHTS = 32;
const FIRST = day('2026-01-01');
const START = addDays(FIRST, HISTORY_DAYS);
const METRICS = ['installs', 'all_revenue_total_d7'];
const options = { apps: 2, partners: 3, links: 12, rowsPerDay: 120 };

const daily = slice({
  name: 'daily',
  dimensions: ['day', 'app_token'],
  metrics: [...METRICS, 'ecpi'],
  datePeriod: { first: { day: FIRST }, last: { daysAgo: 1 } },
});

const instantOf = (of: Day): Date => new Date(`${of}T03:00:00Z`);
const world = createWorld(options);

/** What the world says of a day's total at an instant. */
function totalAt(metric: string, of: Day, now: Date): number {
  const rows = askWorld(world, daily, { start: of, end: addDays(of, 1) }, now).get(of);
  return [...(rows?.values() ?? [])].reduce((sum, row) => sum + Number(row[metric]), 0);
}

const inTheEnd = (metric: string, of: Day): number => totalAt(metric, of, instantOf(addDays(of, 400)));

/** What a night leaves: the views, and what it says of the past. */
interface Left {
  readonly maturation: readonly z.infer<typeof maturationRow>[];
  readonly projected: readonly z.infer<typeof projectedRow>[];
  readonly backtest: readonly z.infer<typeof errorRow>[];
  /** Of nights that a test looks at. */
  readonly report: StatusReport | null;
}

const maturationRow = z.object({ metric: z.string(), age_days: count, periods: count, share_median: z.number() });
const projectedRow = z.object({
  day: z.string(),
  metric: z.string(),
  age_days: count,
  projected: z.number(),
  low: z.number(),
  high: z.number(),
});
const errorRow = z.object({
  metric: z.string(),
  age_days: count,
  cohorts: count,
  median_abs_error: z.number().nullable(),
  reason: z.string().nullable(),
});

let scenario: Scenario;
let histories: Map<string, RipeningHistory>;
const left: Left[] = [];
let failures = 0;

/** The histories of a slice's metrics, as the last run read them. */
async function readMetrics(
  warehouse: Warehouse,
  of: Slice,
  metrics: readonly string[],
): Promise<Map<string, RipeningHistory>> {
  const live = {
    slice: of,
    fingerprint: fingerprintOf(of),
    metrics: metrics.map((id) => metricOf(id, undefined)),
    table: 'main.daily',
  };
  const newest = 'select run_id from ripen.runs order by run_number desc limit 1';
  const [run] = await warehouse.rows(newest, [], z.object({ run_id: z.string() }));
  const changed = z.object({ start_day: dayShape });
  const [history] = await warehouse.rows(statement('insight/changed_histories'), [run?.run_id ?? '', 240], changed);
  return history === undefined ? new Map<string, RipeningHistory>() : readHistories(warehouse, live, history.start_day);
}

beforeAll(async () => {
  scenario = await openScenario([daily], { simulator: { world: options } });
  for (let night = 0; night < NIGHTS; night += 1) {
    const asOf = instantOf(addDays(START, night));
    const summary = await scenario.night(asOf);
    failures += summary.failures.length;
    left.push(
      await scenario.inWarehouse(async (warehouse) => ({
        maturation: await warehouse.rows('from daily_maturation', [], maturationRow),
        projected: await warehouse.rows(
          `select day, metric, age_days, sum(projected) as projected, sum(low) as low, sum(high) as high
           from daily_projected group by all`,
          [],
          projectedRow,
        ),
        backtest: await warehouse.rows('from ripen.projection_errors', [], errorRow),
        report: [5, NIGHTS - 1].includes(night) ? await readStatus(scenario.config, warehouse, asOf) : null,
      })),
    );
  }
  histories = await scenario.inWarehouse((warehouse) => readMetrics(warehouse, daily, METRICS));
}, 280_000);

afterAll(() => scenario.close());

test(`every reading of ${NIGHTS} nights is what the world said of that day in that night, and final ones what it says in the end`, () => {
  expect(failures).toBe(0);
  expect([...histories.keys()].toSorted()).toEqual(METRICS.toSorted());
  let compared = 0;
  for (const [metric, { development }] of histories) {
    for (const { lastDay, readings, finals } of development) {
      const of = addDays(day('1970-01-01'), lastDay);
      for (const [age, value] of [...readings].slice(0, 2)) {
        const expected = totalAt(metric, of, instantOf(addDays(of, age)));
        expect(value, `${metric} of ${of} at age ${age}`).toBeCloseTo(expected, 6);
        compared += 1;
      }
      expect(finals.length).toBeLessThan(2);
      for (const { value } of finals) expect(value).toBeCloseTo(inTheEnd(metric, of), 6);
    }
    const firstFinal = metric === 'installs' ? 8 : 9;
    expect(development.filter(({ finals }) => finals.length > 0)).toHaveLength(HISTORY_DAYS + NIGHTS - firstFinal);
  }
  expect(compared).toBeGreaterThan(140);
});

/** Final totals by day that nights have read at an age before. */
const sharesAt = (metric: string, age: number, night: number): number[] => {
  const seen = Array.from({ length: night }, (_, at) => addDays(START, at - age));
  const isFinal = (of: Day): boolean => daysBetween(of, addDays(START, night)) >= (metric === 'installs' ? 8 : 9);
  return seen.filter(isFinal).map((of) => totalAt(metric, of, instantOf(addDays(of, age))) / inTheEnd(metric, of));
};

test(`the view of maturation has rows from the night on in which ${FEWEST_PERIODS} periods had become final, with the median share of the world`, () => {
  for (const [night, { maturation }] of left.entries()) {
    expect(maturation.length > 0, `night ${night}`).toBe(night >= FEWEST_PERIODS);
  }
  for (const night of [FEWEST_PERIODS, 20, NIGHTS - 1]) {
    for (const { metric, age_days: age, periods, share_median: share } of left[night]?.maturation ?? []) {
      const shares = sharesAt(metric, age, night);
      expect(periods).toBe(shares.length);
      expect(share, `${metric} at ${age}`).toBeCloseTo(median(shares) ?? 0, 9);
    }
  }
  expect(left.at(-1)?.maturation).toHaveLength(13);
});

test('before that, status says how many periods became final after an earlier fetch, and how many are needed', () => {
  const text = (night: number): string => {
    const report = left[night]?.report ?? null;
    return report === null ? '' : statusText(report, null, { maturation: true, backtest: false });
  };
  expect(text(5)).toContain(
    'maturation not known yet: installs, all_revenue_total_d7: 5 periods became final after an earlier fetch; 8 are needed',
  );
  expect(text(NIGHTS - 1)).not.toContain('not known yet');
});

test('an age is projected once 8 past periods could have been, and the number of those that could is told before', () => {
  const early = left[FEWEST_PERIODS]?.backtest ?? [];
  expect(early.length).toBeGreaterThan(0);
  for (const { reason, cohorts } of early) {
    expect(reason).toBe(
      `${cohorts} past ${cohorts === 1 ? 'period' : 'periods'} could have been projected; 8 are needed`,
    );
  }
  const last = left.at(-1)?.backtest ?? [];
  expect(last.filter(({ cohorts }) => cohorts < FEWEST_PERIODS)).toEqual([]);
  const revenue = last.filter(({ metric }) => metric !== 'installs');
  expect(revenue.map(({ age_days: age, reason }) => [age, reason])).toEqual(
    [1, 2, 3, 4, 5, 7, 8].map((age) => [age, null]),
  );
});

test('what was projected in all nights came out as far off as the backtest of the last one says, most of it inside its interval', () => {
  const made = left.flatMap(({ projected }) => projected);
  expect(made.length).toBeGreaterThan(100);
  const inside = made.filter(({ day: of, metric, low, projected, high }) => {
    expect(low <= projected && projected <= high).toBe(true);
    const truth = inTheEnd(metric, day(of));
    return low <= truth && truth <= high;
  });
  expect(inside.length / made.length).toBeGreaterThanOrEqual(0.6);
  for (const { metric, age_days: age, median_abs_error: stated } of left.at(-1)?.backtest ?? []) {
    const errors = made
      .filter((each) => each.metric === metric && each.age_days === age)
      .map(({ day: of, projected }) => Math.abs(projected / inTheEnd(metric, day(of)) - 1));
    if (errors.length < FEWEST_PERIODS) continue;
    expect(Math.abs((median(errors) ?? 0) - (stated ?? 1)), `${metric} at ${age}`).toBeLessThan(0.01);
  }
});

test('low is at most projected, and projected at most high, in negative rows too', async () => {
  const path = scenario.config.warehouse;
  const warehouse = await openWarehouse(path, { mode: 'write', lockWaitMs: 0, emit: () => {} });
  try {
    const refunded = `update main.daily set all_revenue_total_d7 = -all_revenue_total_d7 where app_token = (select min(app_token) from main.daily)`;
    await warehouse.run(refunded);
    const rows = await warehouse.rows(
      'select day, metric, age_days, projected, low, high from daily_projected',
      [],
      projectedRow,
    );
    await warehouse.run(refunded);
    expect(rows.filter(({ projected }) => projected < 0).length).toBeGreaterThan(3);
    expect(rows.filter(({ low, projected, high }) => low > projected || projected > high)).toEqual([]);
  } finally {
    await warehouse.close();
  }
});

test('every column that holds a projection says so in its comment', async () => {
  const comments = await column(
    scenario,
    `select comment from duckdb_columns()
     where table_name = 'daily_projected' and column_name in ('metric', 'projected', 'low', 'high', 'periods')`,
  );
  expect(comments).toHaveLength(5);
  expect(comments.filter((comment) => !/projection/i.test(comment ?? ''))).toEqual([]);
});

test('the totals of the last 240 days are read, the first of them whole, and none before', async () => {
  const long = { ...daily, datePeriod: { first: { day: addDays(FIRST, -260) }, last: { daysAgo: 1 } } } as const;
  const grown = await openScenario([long], { simulator: { world: options } });
  const now = instantOf(FIRST);
  try {
    expect((await grown.night(now)).failures).toEqual([]);
    const read = await grown.inWarehouse((warehouse) => readMetrics(warehouse, long, ['installs']));
    const { development = [] } = read.get('installs') ?? {};
    expect(development).toHaveLength(240);
    const first = addDays(FIRST, -240);
    expect(development[0]?.lastDay).toBe(daysBetween(day('1970-01-01'), first));
    expect(development[0]?.finals[0]?.value).toBe(totalAt('installs', first, now));
  } finally {
    await grown.close();
  }
}, 120_000);

test('a slice whose last metrics that ripen are removed keeps its other views, and has these no longer', async () => {
  const viewNames = async (): Promise<unknown[]> =>
    column(
      scenario,
      `select view_name from duckdb_views() where schema_name = 'main' and view_name like 'daily%' order by 1`,
    );
  expect(await viewNames()).toEqual(['daily_cohorts', 'daily_final', 'daily_maturation', 'daily_projected']);
  const bare = slice({ ...daily, metrics: ['ecpi'] });
  const summary = await runNight(scenario, instantOf(addDays(START, NIGHTS)), { slices: [bare] });
  expect(summary.failures).toEqual([]);
  expect(await viewNames()).toEqual(['daily_final']);
  expect(await column(scenario, `select count(*) from ripen.projection_errors where slice = 'daily'`)).toEqual(['0']);
});
