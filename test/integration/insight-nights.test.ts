/** How a slice ripens, night after night through the whole pipeline: what the warehouse then says of its unfinal values. */

import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';

import { MIN_PERIODS, median } from '../../src/insight/ripening.ts';
import { addDays, day, daysBetween, type Day } from '../../src/model/calendar.ts';
import { createWorld } from '../support/simulator/world.ts';
import { count } from '../../src/warehouse/sql.ts';
import { askWorld } from '../bench/nights/reported-rows.ts';
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

const inTheEnd = (metric: string, of: Day): number =>
  totalAt(metric, of, instantOf(addDays(of, 400)));

/** What a night leaves: the views, and what it says of the past. */
interface Left {
  readonly maturation: readonly z.infer<typeof maturationRow>[];
  readonly projected: readonly z.infer<typeof projectedRow>[];
  readonly backtest: readonly z.infer<typeof errorRow>[];
}

const maturationRow = z.object({
  metric: z.string(),
  age_days: count,
  periods: count,
  share_median: z.number(),
});
const projectedRow = z.object({
  day: z.string(),
  metric: z.string(),
  age_days: count,
  value: z.number(),
  projected: z.number(),
  low: z.number(),
  high: z.number(),
});
const errorRow = z.object({
  metric: z.string(),
  age_days: count,
  cohorts: count,
  median_abs_error: z.number().nullable(),
  is_projected: z.boolean(),
});

let scenario: Scenario;
const left: Left[] = [];

beforeAll(async () => {
  scenario = await openScenario([daily], { simulator: { world: options } });
  for (let night = 0; night < NIGHTS; night += 1) {
    const asOf = instantOf(addDays(START, night));
    const summary = await scenario.night(asOf);
    if (summary.failures.length > 0) throw new Error('A night failed.');
    left.push(
      await scenario.inWarehouse(async (warehouse) => ({
        maturation: await warehouse.rows('from daily_maturation', [], maturationRow),
        projected: await warehouse.rows(
          `select day, metric, age_days, sum(value) as value, sum(projected) as projected, sum(low) as low, sum(high) as high
           from daily_projected group by all`,
          [],
          projectedRow,
        ),
        backtest: await warehouse.rows('from ripen.projection_errors', [], errorRow),
      })),
    );
  }
}, 280_000);

afterAll(() => scenario.close());

/** Final totals by day that nights have read at an age before. */
const sharesAt = (metric: string, age: number, night: number): number[] => {
  const seen = Array.from({ length: night }, (_, at) => addDays(START, at - age));
  const isFinal = (of: Day): boolean =>
    daysBetween(of, addDays(START, night)) >= (metric === 'installs' ? 8 : 9);
  return seen
    .filter(isFinal)
    .map((of) => totalAt(metric, of, instantOf(addDays(of, age))) / inTheEnd(metric, of));
};

test(`the view of maturation has rows from the night on in which ${MIN_PERIODS} periods had become final, with the median share of the world`, () => {
  for (const [night, { maturation }] of left.entries()) {
    expect(maturation.length > 0, `night ${night}`).toBe(night >= MIN_PERIODS);
  }
  for (const night of [MIN_PERIODS, 20, NIGHTS - 1]) {
    for (const { metric, age_days: age, periods, share_median: share } of left[night]?.maturation ??
      []) {
      const shares = sharesAt(metric, age, night);
      expect(periods).toBe(shares.length);
      expect(share, `${metric} at ${age}`).toBeCloseTo(median(shares) ?? 0, 9);
    }
  }
  // Each age until a total is final, 7 and 8: age 6 is no milestone, but requested with those beside it.
  expect(left.at(-1)?.maturation).toHaveLength(15);
});

test('what was projected in all nights came out as far off as the backtest of the last one says, half as far as the values as they were, most of it inside its interval', () => {
  const made = left.flatMap(({ projected }) => projected);
  expect(made.length).toBeGreaterThan(100);
  const inside = made.filter(({ day: of, metric, low, projected, high }) => {
    expect(low <= projected && projected <= high).toBe(true);
    const truth = inTheEnd(metric, day(of));
    return low <= truth && truth <= high;
  });
  expect(inside.length / made.length).toBeGreaterThanOrEqual(0.6);
  const off = (valueOf: (each: (typeof made)[number]) => number): number =>
    median(
      made.map((each) => Math.abs(valueOf(each) / inTheEnd(each.metric, day(each.day)) - 1)),
    ) ?? 0;
  expect(off(({ projected }) => projected)).toBeLessThan(off(({ value }) => value) / 2);
  for (const { metric, age_days: age, median_abs_error: stated } of left.at(-1)?.backtest ?? []) {
    const errors = made
      .filter((each) => each.metric === metric && each.age_days === age)
      .map(({ day: of, projected }) => Math.abs(projected / inTheEnd(metric, day(of)) - 1));
    if (errors.length < MIN_PERIODS) continue;
    expect(Math.abs((median(errors) ?? 0) - (stated ?? 1)), `${metric} at ${age}`).toBeLessThan(
      0.01,
    );
  }
});
