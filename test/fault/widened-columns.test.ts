/** A metric whose type widens after loads: by the catalog, by the configuration, by a value. What fails widens nothing. */

import { expect, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import type { ReportMutation } from '../support/simulator/mutations.ts';
import type { Quirks } from '../support/simulator/quirks.ts';
import { column, query, storedAndTrue } from '../support/contents.ts';
import { reports, runNight } from '../support/night.ts';
import { combined, replacedValue, wrongTotal } from '../support/report-mutations.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

let scenario: Scenario;

const FIRST = new Date('2026-06-01T02:30:00Z');
const SECOND = new Date('2026-06-02T02:30:00Z');

/** A count of the usual kind. */
const quirks: Partial<Quirks> = {
  metrics: [{ id: 'points_scored', formatting: 'integer', kind: 'count', listed: 'overview_metrics' }],
};
const world = { apps: 1, partners: 2, links: 4, rowsPerDay: 6, quirks } as const;
const given = {
  name: 'daily',
  dimensions: ['day', 'os_name'],
  metrics: ['installs', 'points_scored', 'cost'],
  datePeriod: { first: { day: day('2026-05-28') }, last: { daysAgo: 1 } },
  refresh: 'nightly',
} as const;
const daily = slice(given);

/** Befalls the answers of the second night: its first row is the oldest. */
const script = (mutate: ReportMutation): (() => void) =>
  scenario.simulator.script({ match: reports(), times: Infinity, fault: { kind: 'report', mutate } });
const typeOf = async (name: string): Promise<string> =>
  (await column(scenario, `select column_type from (describe daily) where column_name = '${name}'`)).join();
const widenings = (): Promise<string[]> =>
  column(
    scenario,
    "select name || ': ' || before || ' to ' || after from ripen.schema_changes where change = 'column widened'",
  );

/** Columns, comments and views, as the database tells them. */
const described = async (): Promise<unknown> => [
  await query(scenario, 'describe daily'),
  await query(
    scenario,
    "select table_name, column_name, comment from duckdb_columns() where schema_name = 'main' order by all",
  ),
  await query(scenario, "select table_name, comment from duckdb_tables() where schema_name = 'main' order by all"),
  await query(
    scenario,
    "select view_name, sql, comment from duckdb_views() where view_name like 'daily%' order by all",
  ),
];

test.each(['decimal', 'money'])(
  '7.5 in a count whose list turned from integer to %s after 4 days were loaded is stored as 7.5',
  async (formatting) => {
    const altered = { id: 'points_scored', formatting, during: (now: Date) => now >= SECOND } as const;
    scenario = await openScenario([daily], {
      simulator: { world: { ...world, quirks: { ...quirks, catalog: [altered] } } },
    });
    await runNight(scenario, FIRST);
    const type = await typeOf('points_scored');
    expect(type).toBe('BIGINT');
    script(replacedValue(0, 'points_scored', '7.5'));
    expect(await runNight(scenario, SECOND)).toMatchObject({ status: 'succeeded', failures: [] });

    expect(
      await column(scenario, "select points_scored::varchar from daily where points_scored::varchar like '7.5%'"),
    ).toEqual([expect.stringMatching(/^7\.50*$/)]);
    expect((await widenings()).map((each) => each.slice(0, 23))).toEqual(['points_scored: BIGINT t']);
    const { stored, truth } = await storedAndTrue(scenario, daily, '2026-05-28:2026-06-01', SECOND);
    expect(stored.filter((row) => !truth.includes(row)).length).toBe(1);
    expect(stored.length).toBe(truth.length);
  },
);

test.each<[string, ReportMutation]>([
  ['whose installs are off by 1', wrongTotal('installs', 1)],
  ['with a value that is no number', replacedValue(1, 'installs', '1,234.5')],
  ['with a day outside of it', replacedValue(1, 'day', '2026-04-01')],
])('a window with a cost of 20 digits %s fails, and changes no column, no comment and no view', async (_, mutate) => {
  scenario = await openScenario([daily], {
    simulator: { world: { ...world, quirks: { metrics: quirks.metrics ?? [] } } },
  });
  await runNight(scenario, FIRST);
  const before = await described();
  const restore = script(combined(replacedValue(0, 'cost', '12345678901234.123456789'), mutate));
  const failed = await runNight(scenario, SECOND);
  expect(failed.failures.length).toBeGreaterThan(0);
  expect(failed.slices[0]?.windows.loaded).toBe(0);
  expect(await described()).toEqual(before);
  expect(await widenings()).toEqual([]);

  // The same value in a sound answer does.
  restore();
  script(replacedValue(0, 'cost', '12345678901234.123456789'));
  expect((await runNight(scenario, SECOND)).failures).toEqual([]);
  expect((await widenings()).length).toBe(1);
  expect(await column(scenario, 'select distinct cost::varchar from daily where cost > 1000000')).toEqual([
    expect.stringMatching(/^12345678901234\.1234567890*$/),
  ]);
});
