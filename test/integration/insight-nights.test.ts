/** How slices ripen, night after night through the whole pipeline: what the warehouse then says of values that are not final. */

import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';

import {
  type Development,
  ladderOf,
  maturationOf,
  median,
  MIN_PERIODS,
  scoresOf,
} from '../../src/insight/ripening.ts';
import {
  addDays,
  day,
  daysBetween,
  type Day,
  MS_PER_DAY,
  utcOffset,
} from '../../src/model/calendar.ts';
import { cubeMetrics } from '../../src/model/cube.ts';
import { finalAt } from '../support/finality.ts';
import { type Metric, metricsOf } from '../../src/model/metric.ts';
import { ageOf, endOf, type Period, periodsOf } from '../../src/model/period.ts';
import type { Slice } from '../../src/model/slice.ts';
import { readStatus } from '../../src/report/status/status.ts';
import { withWarehouse } from '../../src/warehouse/opening.ts';
import { count } from '../../src/warehouse/sql.ts';
import { askWorld } from '../bench/nights/reported-rows.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { createWorld } from '../support/simulator/world.ts';
import { slice } from '../support/slice.ts';

/** A history is loaded in the first night, and ripens from then on. */
const HISTORY_DAYS = 20;
const NIGHTS = 60;
const MISSED: ReadonlySet<number> = new Set([9, 10, 24, 47]);
/** On this night, the slice by day has one metric less. */
const NARROW = { night: 33, without: 'clicks' } as const;
/** Nights after which everything is compared. */
const COMPARED: readonly number[] = [12, 30, NIGHTS - 1];
const FIRST = day('2026-01-01');
const world = { apps: 2, partners: 3, links: 12, rowsPerDay: 30 };

const common = {
  metrics: ['installs', 'all_revenue_total_d7', 'clicks', 'cohort_revenue', 'ecpi'],
  datePeriod: { first: { day: FIRST }, last: { daysAgo: 1 } },
};
const cube = cubeMetrics({ all_revenue_total: ['d0', 'd3', 'd7', 'd14'] });
const daily = slice({ name: 'daily', dimensions: ['day', 'app_token'], ...common });
const compared: readonly Slice[] = [
  daily,
  slice({
    name: 'half_hour',
    dimensions: ['day', 'app_token'],
    utcOffset: utcOffset('+05:30'),
    ...common,
    parameters: { utc_offset: '+05:30' },
  }),
  slice({ name: 'hourly', dimensions: ['hour', 'app_token'], ...common }),
  slice({
    ...common,
    name: 'curve',
    dimensions: ['day', 'app_token'],
    metrics: cube.map(({ metric }) => metric),
    cube,
  }),
];
const filtered = slice({
  name: 'filtered',
  dimensions: ['day', 'app_token'],
  ...common,
  parameters: { installs__gte: '1' },
});

const nightAt = (night: number): Date =>
  new Date(`${addDays(FIRST, HISTORY_DAYS + night)}T03:00:00Z`);

/** What the service stated of each period on each night that ran, as its own rows add up. */
class Truth {
  readonly #world = createWorld(world);
  readonly #totals = new Map<string, number>();
  readonly #nights: { readonly asOf: Date; readonly asked: readonly string[] }[] = [];
  readonly metrics: readonly Metric[];
  readonly #slice: Slice;

  constructor(of: Slice) {
    this.#slice = of;
    this.metrics = metricsOf(of, []);
  }

  read(asOf: Date, asked: readonly string[]): void {
    this.#nights.push({ asOf, asked });
    const { grain } = this.#slice;
    const query = new URLSearchParams({
      ...this.#slice.parameters,
      dimensions: grain ?? 'day',
      metrics: this.#slice.metrics.join(','),
      date_period: `${FIRST}:${addDays(FIRST, HISTORY_DAYS + NIGHTS)}`,
      format_dates: 'false',
    });
    for (const row of this.#world.report(query, asOf)?.rows ?? []) {
      const start = JSON.stringify(row[grain ?? 'day']).slice(1, 11);
      for (const { id } of this.metrics) {
        const key = `${asOf.toISOString()} ${id} ${start}`;
        this.#totals.set(key, (this.#totals.get(key) ?? 0) + Number(row[id] ?? 0));
      }
    }
  }

  periods(asOf: Date): Period[] {
    const days = { start: FIRST, end: addDays(FIRST, HISTORY_DAYS + NIGHTS) };
    return periodsOf(days, 'day', 1).filter(
      (period) => endOf(period, this.#slice.utcOffset) <= asOf,
    );
  }

  totalAt(metric: string, of: Day, asOf: Date): number {
    return this.#totals.get(`${asOf.toISOString()} ${metric} ${of}`) ?? 0;
  }

  development(metric: Metric): Development {
    const now = this.#nights.at(-1)?.asOf ?? new Date(0);
    const nights = this.#nights.filter(({ asked }) => asked.includes(metric.id));
    return this.periods(now).map((period) => {
      const maturing = new Map<number, number>();
      const finals: { age: number; value: number }[] = [];
      for (const { asOf } of nights) {
        if (asOf < endOf(period, this.#slice.utcOffset)) continue;
        const age = ageOf(period, asOf, this.#slice.utcOffset);
        const value = this.totalAt(metric.id, period.bucket.start, asOf);
        const from = finalAt(period, metric, this.#slice);
        if (from === null || asOf < from) maturing.set(age, value);
        else if (finals.at(-1)?.value !== value) finals.push({ age, value });
      }
      const lastDay = daysBetween(day('1970-01-01'), period.bucket.start);
      return { lastDay, maturing, finals };
    });
  }
}

const maturationRow = z.object({
  metric: z.string(),
  age_days: count,
  periods: count,
  share_q25: z.number(),
  share_median: z.number(),
  share_q75: z.number(),
});
const projectedRow = z.object({
  start: z.string(),
  metric: z.string(),
  age_days: count.nullable(),
  value: z.number().nullable(),
  projected: z.number().nullable(),
  low: z.number().nullable(),
  high: z.number().nullable(),
  basis: z.string(),
});

let scenario: Scenario;
/** What the views showed after a night, and what they should have. */
const left: {
  night: number;
  of: Slice;
  maturation: z.infer<typeof maturationRow>[];
  projected: z.infer<typeof projectedRow>[];
  truth: { metric: Metric; development: Development }[];
}[] = [];
const truths = new Map(compared.map((of) => [of.name, new Truth(of)]));
const controlled = { controlMs: 400 * MS_PER_DAY };

beforeAll(async () => {
  scenario = await openScenario([...compared, filtered], { simulator: { world } });
  for (let night = 0; night < NIGHTS; night += 1) {
    if (MISSED.has(night)) continue;
    const asOf = nightAt(night);
    const slices = [...compared, filtered].map((of) => {
      const isNarrow = of === daily && night === NARROW.night;
      const metrics = of.metrics.filter((metric) => !isNarrow || metric !== NARROW.without);
      return Object.assign({}, of, { metrics });
    });
    const summary = await scenario.night(asOf, { ...controlled, slices });
    for (const { message } of summary.failures) throw new Error(message);
    for (const [at, of] of compared.entries()) {
      const truth = truths.get(of.name);
      truth?.read(asOf, slices[at]?.metrics ?? []);
      if (truth === undefined || !COMPARED.includes(night)) continue;
      const metrics = truth.metrics.map((metric) => ({
        metric,
        development: truth.development(metric),
      }));
      const start = of.grain === 'hour' ? 'hour::date' : 'day';
      left.push(
        await scenario.inWarehouse(async (warehouse) => ({
          night,
          of,
          truth: metrics,
          maturation: await warehouse.rows(`from ${of.name}_maturation`, [], maturationRow),
          projected: await warehouse.rows(
            `select ${start}::varchar as start, metric, any_value(age_days) as age_days, sum(value) as value,
                sum(projected) as projected, sum(low) as low, sum(high) as high, any_value(basis) as basis
             from ${of.name}_projected group by all`,
            [],
            projectedRow,
          ),
        })),
      );
    }
  }
}, 580_000);

afterAll(() => scenario.close());

test(`the maturation of every age, also of those that no load fell on, is that of the truth of ${NIGHTS} mornings, of which ${MISSED.size} were missed`, () => {
  for (const { night, of, maturation, truth } of left) {
    for (const { metric, development } of truth) {
      const shown = maturation.filter((each) => each.metric === metric.id);
      const isShown = metric.horizonMs !== null && (metric.additive || of.grain !== 'hour');
      const expected = isShown ? maturationOf(development) : [];
      const place = `${of.name} ${metric.id}, night ${night}`;
      expect(
        shown.map(({ age_days: age, periods }) => [age, periods]),
        place,
      ).toEqual(expected.map(({ age_days: age, periods }) => [age, periods]));
      for (const [at, { share_q25, share_median, share_q75 }] of expected.entries()) {
        expect(shown[at]?.share_q25, place).toBeCloseTo(share_q25, 9);
        expect(shown[at]?.share_median, place).toBeCloseTo(share_median, 9);
        expect(shown[at]?.share_q75, place).toBeCloseTo(share_q75, 9);
      }
    }
  }
  const last = left.find(({ night }) => night === NIGHTS - 1);
  const ages = last?.maturation.filter(({ metric }) => metric === 'all_revenue_total_d7');
  expect(ages?.map(({ age_days: age }) => age)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
});

const digits = (value: number | null): string => (value ?? NaN).toPrecision(7);

test('each maturing period has a projection that is its newest total times what totals of that age grew by, or the reason why not', () => {
  const bases = new Set<string>();
  for (const { night, of, projected, truth } of left) {
    const asOf = nightAt(night);
    for (const { metric, development } of truth) {
      const factorsOn = ladderOf(development);
      const scores = scoresOf(development, factorsOn);
      const periods = truths.get(of.name)?.periods(asOf) ?? [];
      const expected = periods.flatMap((period) => {
        const { start } = period.bucket;
        const from = finalAt(period, metric, of);
        if (from === null) return [`${start} never final`];
        if (from <= asOf) return [];
        if (!metric.additive) return [`${start} does not add up`];
        const age = ageOf(period, asOf, of.utcOffset);
        const score = scores.find((each) => each.age_days === age);
        if (score === undefined || score.reach === null)
          return [`${start} ${score?.basis ?? 'too little history'}`];
        const total = truths.get(of.name)?.totalAt(metric.id, start, asOf) ?? 0;
        const factor = score.basis === 'ladder' ? (factorsOn(Infinity).get(age)?.value ?? 0) : 1;
        const ends = [total * factor, (total * factor) / score.reach, total * factor * score.reach];
        return [`${start} ${score.basis} ${age} ${ends.map(digits).join(' ')}`];
      });
      const shown = projected
        .filter((each) => each.metric === metric.id)
        .map(({ start, basis, age_days: age, projected: final, low, high }) => {
          bases.add(basis);
          const ends = [final, low, high].map(digits).join(' ');
          return final === null ? `${start} ${basis}` : `${start} ${basis} ${age} ${ends}`;
        });
      expect(shown.toSorted(), `${of.name} ${metric.id}, night ${night}`).toEqual(expected);
    }
  }
  expect([...bases].toSorted()).toEqual([
    'as is',
    'does not add up',
    'ladder',
    'never final',
    'too little history',
    'too uncertain',
  ]);
});

test('what was projected came out half as far off as the values as they were loaded, most of it inside its interval', () => {
  const end = new Date(nightAt(NIGHTS).getTime() + 400 * MS_PER_DAY);
  const rows = askWorld(
    createWorld(world),
    daily,
    { start: FIRST, end: addDays(FIRST, HISTORY_DAYS + NIGHTS) },
    end,
  );
  const made = left.flatMap(({ of, projected }) =>
    of.name !== 'daily'
      ? []
      : projected.flatMap(({ start, metric, value, projected: expected, low, high, basis }) => {
          const ofDay = [...(rows.get(day(start))?.values() ?? [])];
          const final = ofDay.reduce((sum, row) => sum + Number(row[metric]), 0);
          return basis === 'ladder' ? [{ final, value, expected, low, high }] : [];
        }),
  );
  expect(made.length).toBeGreaterThan(15);
  const off = (values: readonly (number | null)[]): number =>
    median(values.map((value, at) => Math.abs((value ?? 0) / (made[at]?.final ?? 1) - 1))) ?? 0;
  expect(off(made.map(({ expected }) => expected))).toBeLessThan(
    off(made.map(({ value }) => value)) / 2,
  );
  const inside = made.filter(({ final, low, high }) => (low ?? 0) <= final && final <= (high ?? 0));
  expect(inside.length / made.length).toBeGreaterThanOrEqual(0.6);
});

test('every maturing cell has a row, and a slice that filters a metric says why it has no maturation', async () => {
  expect(left.length).toBe(COMPARED.length * compared.length);
  await scenario.inWarehouse(async (warehouse) => {
    for (const { name } of [...compared, filtered].filter((of) => of.cube === undefined)) {
      const [counts] = await warehouse.rows(
        `select (select count(*) from ${name}_projected) as rows,
           (select count(*) from (unpivot (select * exclude (_load_id) from ${name}) on columns(* exclude (attr_dependency, _extra, ${name === 'hourly' ? 'hour' : 'day'}, app_token)) into name metric value value) as c
            join ripen.finality as f on f.slice = '${name}' and f.period = c.${name === 'hourly' ? 'hour::date' : 'day'} and f.metric = c.metric
            where not f.is_final) as cells`,
        [],
        z.object({ rows: count, cells: count }),
      );
      expect(counts?.rows, name).toBe(counts?.cells);
      expect(counts?.rows, name).toBeGreaterThan(0);
    }
    const bases = await warehouse.rows(
      'select distinct basis from filtered_projected order by all',
      [],
      z.object({ basis: z.string() }),
    );
    expect(bases.map(({ basis }) => basis)).toEqual([
      'does not add up',
      'never final',
      'no control totals',
    ]);
    const config = { ...scenario.config, ...controlled };
    const { slices, unconfigured } = await readStatus(config, warehouse, nightAt(NIGHTS - 1));
    expect(unconfigured).toEqual([]);
    const status = (name: string) => slices.find((each) => each.name === name);
    expect(status('filtered')).toMatchObject({
      maturation: [],
      backtest: [],
      horizons: [],
      control: null,
      no_control: 'its filters allow none',
    });
    expect(status('daily')?.no_control).toBeNull();
    expect(status('daily')?.control).not.toBeNull();
    const horizons = status('daily')?.horizons ?? [];
    expect(horizons.map(({ metric }) => metric)).toEqual(daily.metrics);
    for (const { metric, final_periods: periods, final_moved: moved } of horizons.slice(0, 2)) {
      expect(periods, metric).toBeGreaterThan(40);
      expect(moved, metric).toBe(0);
    }
    // Installs are rejected for a few days; revenue by age 7 ends with its age.
    const [installs, revenue] = horizons;
    expect(installs?.supported_days).toBeLessThanOrEqual(7);
    expect(revenue?.supported_days).toBe(8);
  });
}, 120_000);

test('a run that loads and reads nothing measures nothing, the next one does', async () => {
  const asOf = nightAt(NIGHTS);
  const measured = async (): Promise<number> => {
    const opening = { mode: 'write', lockWaitMs: 0, emit: () => {} } as const;
    return withWarehouse(scenario.config.warehouse, opening, async (warehouse) =>
      warehouse.run('delete from ripen_internal.maturation'),
    );
  };
  expect((await scenario.night(asOf, controlled)).failures).toEqual([]);
  expect(await measured()).toBeGreaterThan(0);
  expect((await scenario.night(asOf, controlled)).service.requests).toBe(1);
  expect(await measured()).toBe(0);
  expect((await scenario.night(nightAt(NIGHTS + 1), controlled)).failures).toEqual([]);
  expect(await measured()).toBeGreaterThan(0);
}, 120_000);

test('without control totals from a run on that has nothing to load, a slice has no maturation any more, and status says so', async () => {
  expect(MIN_PERIODS).toBe(8);
  const asOf = nightAt(NIGHTS + 2);
  expect((await scenario.night(asOf, controlled)).failures).toEqual([]);
  const { failures, service } = await scenario.night(asOf);
  expect([failures, service.requests]).toEqual([[], 1]);
  await scenario.inWarehouse(async (warehouse) => {
    expect(await warehouse.rows('from daily_maturation', [], maturationRow)).toEqual([]);
    const { slices } = await readStatus(scenario.config, warehouse, asOf);
    expect(slices[0]).toMatchObject({ maturation: [], no_control: '`control` is off' });
  });
}, 120_000);
