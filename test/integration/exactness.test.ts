/** Every value in the table is the one the service stated: of each grain, offset, name and filter; what it withheld is none. */

import { expect, test } from 'vitest';
import * as z from 'zod';

import { utcOffset, day } from '../../src/model/calendar.ts';
import {
  dateDimensions,
  dimensionFilters,
  metricFilters,
  dimensions,
  isDateDimension,
} from '../../src/model/dimension.ts';
import type { Slice } from '../../src/model/slice.ts';
import { createWorld } from '../support/simulator/world.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';
import { storedRows, truthRows } from '../support/truth.ts';
import { column } from '../support/contents.ts';
import { reports } from '../support/night.ts';
import { replacedValue } from '../support/report-mutations.ts';

let scenario: Scenario;

const NOW = new Date('2026-06-01T02:30:00Z');

const small = { apps: 2, partners: 4, links: 30, rowsPerDay: 60 };

async function expectExact(
  slices: readonly Slice[],
  days: string,
  world: object = small,
): Promise<void> {
  scenario = await openScenario(slices, { simulator: { world } });
  const summary = await scenario.night(NOW);
  expect(summary.failures).toEqual([]);
  await scenario.inWarehouse(async (warehouse) => {
    for (const each of slices) {
      const stored = await storedRows(warehouse, each);
      const truth = await truthRows(warehouse, scenario.simulator.world, each, days, NOW);
      expect(stored.length, `${each.name} has rows`).toBeGreaterThan(0);
      expect(stored, each.name).toEqual(truth);
    }
  });
}

const period = { first: { daysAgo: 40 }, last: { daysAgo: 1 } };
const DAYS = '2026-04-22:2026-05-31';
const TEN_DAYS = '2026-05-22:2026-05-31';
const metrics = [
  'installs',
  'clicks',
  'cost',
  'network_cost',
  'ecpi',
  'ctr',
  'revenue',
  'all_revenue_total_d7',
  'cohort_size_d7',
  'roas_d7',
  'daus',
  'network_installs_diff',
];

test('every grain, hour to year and none, is stored value by value as the service said it', async () => {
  const slices = dateDimensions.map((grain) =>
    slice({
      name: `by_${grain}`,
      dimensions: [grain, 'app_token', 'os_name'],
      metrics,
      datePeriod: period,
    }),
  );
  const whole = slice({
    name: 'by_nothing',
    dimensions: ['app_token', 'network', 'country_code'],
    metrics,
    datePeriod: period,
  });
  await expectExact([...slices, whole], DAYS);
});

test.each(['+05:30', '-04:00'])(
  'an hourly and a daily slice in %s keep each hour and day of that offset',
  async (text) => {
    const days = { first: { daysAgo: 12 }, last: { daysAgo: 2 } };
    const slices = ['hour', 'day'].map((grain) =>
      slice({
        name: `by_${grain}`,
        dimensions: [grain, 'app_token'],
        metrics,
        utcOffset: utcOffset(text),
        datePeriod: days,
      }),
    );
    await expectExact(
      slices,
      text === '-04:00' ? '2026-05-19:2026-05-29' : '2026-05-20:2026-05-30',
    );
  },
);

test('every text dimension with its hostile names comes back byte for byte', async () => {
  const all = slice({
    name: 'wide',
    dimensions: ['day', ...dimensions.filter((name) => !isDateDimension(name))],
    metrics: ['installs', 'cost'],
    datePeriod: { first: { daysAgo: 3 }, last: { daysAgo: 1 } },
  });
  await expectExact([all], '2026-05-29:2026-05-31', {});
});

const filterTexts: Readonly<Record<(typeof dimensionFilters)[number], string>> = {
  in: 'ios,android',
  not_in: 'ios',
  contains: 'dr',
  exclude: 'dr',
  starts_with: 'AND',
  not_starts_with: 'and',
  ends_with: 'OS',
  not_ends_with: 'os',
};

test('all 8 dimension filters and all 6 metric filters reach the service and come back as it answered', async () => {
  const metricThreshold = await someInstalls();
  const filtered = (name: string, parameters: Record<string, string>): Slice =>
    slice({
      name,
      dimensions: ['day', 'os_name', 'country_code'],
      metrics: ['installs', 'cost'],
      datePeriod: { first: { daysAgo: 10 }, last: { daysAgo: 1 } },
      parameters,
    });
  await expectExact(
    [
      ...dimensionFilters.map((suffix) =>
        filtered(`d_${suffix}`, { [`os_name__${suffix}`]: filterTexts[suffix] }),
      ),
      ...metricFilters.map((suffix) =>
        filtered(`m_${suffix}`, { [`installs__${suffix}`]: metricThreshold }),
      ),
    ],
    TEN_DAYS,
  );
});

/** A number of installs that some row has, some have more and some less. */
async function someInstalls(): Promise<string> {
  const world = createWorld(small);
  const query = new URLSearchParams({
    dimensions: 'day,os_name,country_code',
    metrics: 'installs',
    date_period: TEN_DAYS,
    attribution_type: 'all',
    format_dates: 'false',
  });
  const counts = (world.report(query, NOW)?.rows ?? [])
    .map((row) => Number(row['installs']))
    .sort((a, b) => a - b);
  return String(counts[Math.floor(counts.length / 2)]);
}

const maturing = {
  dimensions: ['day', 'app_token'],
  metrics: ['installs', 'all_revenue_total_d7'],
  datePeriod: { first: { daysAgo: 12 }, last: { daysAgo: 1 } },
} as const;
const counts = z.object({
  day: z.string(),
  zeros: z.coerce.number(),
  unknown: z.coerce.number(),
  measured: z.coerce.number(),
});

test('under mature a withheld day-7 value is NULL, not a measured zero, and the installs of its row stay', async () => {
  const mature = slice({ name: 'mature', ...maturing, parameters: { cohort_maturity: 'mature' } });
  const immature = slice({
    name: 'immature',
    ...maturing,
    parameters: { cohort_maturity: 'immature' },
  });
  scenario = await openScenario([mature, immature]);
  expect((await scenario.night(NOW)).failures).toEqual([]);
  await scenario.inWarehouse(async (warehouse) => {
    const byDay = (table: string): Promise<z.infer<typeof counts>[]> =>
      warehouse.rows(
        `select day::varchar as day,
             count(*) filter (where all_revenue_total_d7 = 0) as zeros,
             count(*) filter (where all_revenue_total_d7 is null) as unknown,
             count(*) filter (where installs > 0) as measured
         from ${table} group by day order by day`,
        [],
        counts,
      );
    const [withheld, open] = [await byDay('mature'), await byDay('immature')];
    expect(withheld).toHaveLength(12);
    // The 24th of May ended eight days before the night; its last installer completed age 7 at the first of June.
    for (const row of withheld.filter(({ day }) => day > '2026-05-24')) {
      expect(row.zeros, row.day).toBe(0);
      expect(row.unknown, row.day).toBeGreaterThan(0);
      expect(row.measured, row.day).toBeGreaterThan(0);
    }
    expect(
      withheld.filter(({ day }) => day <= '2026-05-24').some(({ unknown }) => unknown === 0),
    ).toBe(true);
    expect(open.every(({ unknown }) => unknown === 0)).toBe(true);
  });
});

/** Names that stand for something in SQL, in JavaScript or in a load. */
const names = [
  'windows',
  'typed',
  'answers',
  'staged',
  'documents',
  'plain_texts',
  'not_numbers',
  'before',
  'after',
];

test(`slices named ${names.join(', ')} load beside each other, are restated, and reach both published copies`, async () => {
  const threeDays = {
    first: { day: day('2026-05-29') },
    last: { day: day('2026-05-31') },
  } as const;
  const slices = names.map((name) =>
    slice({
      name,
      dimensions: ['day', 'os_name'],
      metrics: ['installs', 'cost'],
      datePeriod: threeDays,
      refresh: 'nightly',
    }),
  );
  scenario = await openScenario(slices, {
    simulator: { world: { apps: 1, partners: 2, links: 4, rowsPerDay: 6 } },
  });
  const published = `${scenario.directory}/readers`;
  const config = {
    slices,
    publish: [
      { kind: 'duckdb', path: `${published}/analytics.duckdb`, mode: 0o644 },
      { kind: 'parquet', path: `${published}/lake`, mode: 0o644 },
    ],
  } as const;
  expect(await scenario.night(NOW, config)).toMatchObject({ status: 'succeeded', failures: [] });
  scenario.simulator.script({
    match: reports(),
    times: Infinity,
    fault: { kind: 'report', mutate: replacedValue(0, 'installs', '90000') },
  });
  const summary = await scenario.night(new Date('2026-06-02T02:30:00Z'), config);

  expect(summary).toMatchObject({ status: 'succeeded', failures: [] });
  expect(summary.published.map(({ kind }) => kind)).toEqual(['duckdb', 'parquet']);
  expect(
    await column(
      scenario,
      "select distinct slice from ripen.restatements where metric = 'installs' order by slice",
    ),
  ).toEqual([...names].sort());
  for (const name of names) {
    const [count] = await column(scenario, `select count(*) from main."${name}"`);
    expect(
      await column(
        scenario,
        `select count(*) from read_parquet('${published}/lake/${name}/*.parquet')`,
      ),
    ).toEqual([count]);
  }
});
