/** How a slice ripens, night after night through the whole pipeline: what the warehouse then says of its unfinal values. */

import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';

import { readTriangles, type Triangle } from '../../src/insight/read-developments.ts';
import { addDays, day, daysBetween, type Day } from '../../src/model/calendar.ts';
import { metricOf } from '../../src/model/metric.ts';
import { createWorld } from '../support/simulator/world.ts';
import { fingerprintOf } from '../../src/model/fingerprint.ts';
import { count } from '../../src/warehouse/sql.ts';
import { column } from '../support/contents.ts';
import { runNight, smallWorld } from '../support/night.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';
import { askWorld } from '../bench/nights/reported-rows.ts';

/** Twelve tell that readings are right, and that nothing is said yet; forty, that what is said is right. */
const NIGHTS = Number(process.env['RIPEN_NIGHTS'] ?? 12);
const ENOUGH_NIGHTS = 40;
const FIRST = day('2026-03-01');
const METRICS = ['installs', 'all_revenue_total_d7'];

const daily = slice({
  name: 'daily',
  dimensions: ['day', 'app_token'],
  metrics: [...METRICS, 'ecpi'],
  datePeriod: { first: { day: FIRST }, last: { daysAgo: 1 } },
});

const instantOf = (of: Day): Date => new Date(`${of}T03:00:00Z`);
const world = createWorld(smallWorld);

/** What the world says of a day's total at an instant. */
function totalAt(metric: string, of: Day, now: Date): number {
  const rows =
    askWorld(world, daily, { start: of, end: addDays(of, 1) }, now)
      .get(of)
      ?.values() ?? [];
  return [...rows].reduce((sum, row) => sum + Number(row[metric]), 0);
}

let scenario: Scenario;
let triangles: Map<string, Triangle>;
let failures = 0;

beforeAll(async () => {
  scenario = await openScenario([daily], { simulator: { world: smallWorld } });
  for (let night = 1; night <= NIGHTS; night += 1) {
    const summary = await scenario.night(instantOf(addDays(FIRST, night)));
    failures += summary.failures.length;
  }
  triangles = await scenario.inWarehouse((warehouse) =>
    readTriangles(warehouse, {
      slice: daily,
      fingerprint: fingerprintOf(daily),
      metrics: METRICS.map((id) => metricOf(id, [])),
      table: 'main.daily',
    }),
  );
}, 120_000);

afterAll(() => scenario.close());

test(`every reading of ${NIGHTS} nights is what the world said of that day in that night, and final ones what it says in the end`, () => {
  expect(failures).toBe(0);
  expect([...triangles.keys()].toSorted()).toEqual(METRICS.toSorted());
  let compared = 0;
  for (const [metric, { development }] of triangles) {
    expect(development).toHaveLength(NIGHTS);
    for (const [at, { lastDay, readings, final }] of development.entries()) {
      const of = addDays(FIRST, at);
      expect(lastDay).toBe(daysBetween(day('1970-01-01'), of));
      for (const { age, value } of readings) {
        expect(value, `${metric} of ${of} at age ${age}`).toBeCloseTo(
          totalAt(metric, of, instantOf(addDays(of, age))),
          6,
        );
        compared += 1;
      }
      const inTheEnd = totalAt(metric, of, instantOf(addDays(of, 400)));
      expect(final?.value ?? inTheEnd).toBeCloseTo(inTheEnd, 6);
    }
    const firstFinal = metric === 'installs' ? 8 : 9;
    expect(development.filter(({ final }) => final !== null)).toHaveLength(NIGHTS - firstFinal + 1);
  }
  expect(compared).toBeGreaterThan(80);
});

test('the totals of the last 240 days are read, the first of them whole, and none before', async () => {
  const long = { ...daily, datePeriod: { first: { day: addDays(FIRST, -260) }, last: { daysAgo: 1 } } } as const;
  const grown = await openScenario([long], { simulator: { world: smallWorld } });
  const now = instantOf(FIRST);
  try {
    expect((await grown.night(now)).failures).toEqual([]);
    const read = await grown.inWarehouse((warehouse) =>
      readTriangles(warehouse, {
        slice: long,
        fingerprint: fingerprintOf(long),
        metrics: [metricOf('installs', [])],
        table: 'main.daily',
      }),
    );
    const { development = [] } = read.get('installs') ?? {};
    expect(development).toHaveLength(240);
    const first = addDays(FIRST, -240);
    expect(development[0]?.lastDay).toBe(daysBetween(day('1970-01-01'), first));
    expect(totalAt('installs', first, now)).toBeGreaterThan(0);
    expect(development[0]?.final?.value).toBe(totalAt('installs', first, now));
  } finally {
    await grown.close();
  }
}, 120_000);

const viewRow = z.object({ metric: z.string(), age_days: count, periods: count, share_median: z.number() });

test('maturation stays silent before 8 periods are final, and says the median share of the world after that', async () => {
  const rows = await scenario.inWarehouse((warehouse) =>
    warehouse.rows('select metric, age_days, periods, share_median from daily_maturation', [], viewRow),
  );
  expect(rows.length > 0).toBe(NIGHTS >= 15);
  for (const { metric, age_days: age, share_median: share } of rows) {
    const shares = (triangles.get(metric)?.development ?? []).flatMap(({ lastDay, final }) => {
      const of = addDays(day('1970-01-01'), lastDay);
      return final === null ? [] : [totalAt(metric, of, instantOf(addDays(of, age))) / final.value];
    });
    expect(shares.filter((each) => each < share).length / shares.length).toBeCloseTo(0.5, 1);
  }
});

const errorRow = z.object({ reason: z.string().nullable() });
const projectedRow = z.object({
  day: z.string(),
  metric: z.string(),
  value: z.number(),
  projected: z.number(),
  low: z.number(),
  high: z.number(),
});

const periodTotals = `select day, metric, sum(value) as value, sum(projected) as projected, sum(low) as low, sum(high) as high
    from daily_projected group by all`;

test('every column that holds a projection says so in its comment', async () => {
  const comments = await scenario.inWarehouse((warehouse) =>
    warehouse.rows(
      `select comment from duckdb_columns()
       where table_name = 'daily_projected' and column_name in ('metric', 'projected', 'low', 'high', 'periods')`,
      [],
      z.object({ comment: z.string() }),
    ),
  );
  expect(comments).toHaveLength(5);
  expect(comments.filter(({ comment }) => !/projection/i.test(comment))).toEqual([]);
});

test.runIf(NIGHTS < 15)(
  `nothing is projected after ${NIGHTS} nights, and the reason is the few past periods`,
  async () => {
    await scenario.inWarehouse(async (warehouse) => {
      expect(await warehouse.rows(periodTotals, [], projectedRow)).toEqual([]);
      const errors = await warehouse.rows('select reason from ripen.projection_errors', [], errorRow);
      expect(errors.length).toBeGreaterThan(0);
      expect(errors.filter(({ reason }) => !/past periods could have been projected/.test(reason ?? ''))).toEqual([]);
    });
  },
);

test.runIf(NIGHTS >= ENOUGH_NIGHTS)(
  `after ${NIGHTS} nights most true totals lie in the interval that rows add up to`,
  async () => {
    const rows = await scenario.inWarehouse((warehouse) => warehouse.rows(periodTotals, [], projectedRow));
    expect(rows.length).toBeGreaterThan(4);
    const inside = rows.filter(({ day: of, metric, low, high }) => {
      const truth = totalAt(metric, day(of), instantOf(addDays(day(of), 400)));
      return low <= truth && truth <= high;
    });
    expect(inside.length / rows.length).toBeGreaterThanOrEqual(0.6);
  },
);

test('a slice whose last metrics that ripen are removed keeps its other views, and has these no longer', async () => {
  const viewNames = async (): Promise<string[]> =>
    column(
      scenario,
      `select view_name from duckdb_views() where schema_name = 'main' and view_name like 'daily%' order by 1`,
    );
  expect(await viewNames()).toEqual(['daily_cohorts', 'daily_final', 'daily_maturation', 'daily_projected']);
  const bare = slice({ ...daily, metrics: ['ecpi'] });
  const summary = await runNight(scenario, instantOf(addDays(FIRST, NIGHTS + 1)), { slices: [bare] });
  expect(summary.failures).toEqual([]);
  expect(await viewNames()).toEqual(['daily_final']);
  expect(await column(scenario, `select count(*) from ripen.projection_errors where slice = 'daily'`)).toEqual(['0']);
});
