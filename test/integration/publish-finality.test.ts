/** What the lake says of final cells: its `_final` views answer as the warehouse's do. */

import { join } from 'node:path';

import { expect, onTestFinished, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import type { DatePeriod } from '../../src/model/slice.ts';
import { query } from '../support/contents.ts';
import { answersOf } from '../support/delta-reader.ts';
import { lakesDdl } from '../support/lake-ddl.ts';
import { smallWorld } from '../support/night.ts';
import { ask } from '../support/sample-warehouse.ts';
import { openScenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

const metrics = [
  'installs',
  'cost',
  'ecpi',
  'all_revenue_total_d0',
  'all_revenue_total_d10',
  'retained_users_d1',
  'cohort_size',
];
/** Until the day before each night. */
const since = (first: string): DatePeriod => ({ first: { day: day(first) }, last: { daysAgo: 1 } });

const slices = [
  slice({
    name: 'by_hour',
    dimensions: ['hour', 'app_token'],
    metrics,
    datePeriod: since('2026-03-20'),
  }),
  slice({
    name: 'by_day',
    dimensions: ['app_token', 'day'],
    metrics,
    datePeriod: since('2026-03-01'),
  }),
  slice({
    name: 'by_week',
    dimensions: ['week', 'os_name'],
    metrics,
    datePeriod: since('2026-02-16'),
  }),
  slice({
    name: 'undated',
    dimensions: ['app_token'],
    metrics,
    datePeriod: { first: { day: day('2026-02-01') }, last: { day: day('2026-02-28') } },
  }),
];

test('final and cohort views beside Delta tables by hour, day, week and without a date show what the warehouse shows, tonight and an older night', async () => {
  const scenario = await openScenario(slices, { simulator: { world: smallWorld } });
  onTestFinished(async () => scenario.close());
  const lake = join(scenario.directory, 'lake');
  const publishing = {
    publish: [{ kind: 'delta', path: lake, mode: 0o644, keepMs: 86_400_000 }],
  } as const;
  const views = slices.flatMap(({ name }) => [`${name}_final`, `${name}_cohorts`]);
  const all = (view: string): string => `select * from ${view} order by all`;
  const nights: { readonly ddl: string; readonly shown: ReadonlyMap<string, unknown> }[] = [];
  for (const night of ['2026-04-01', '2026-04-03']) {
    const summary = await scenario.night(new Date(`${night}T06:00:00Z`), publishing);
    expect(summary.status).toBe('succeeded');
    const ddl = await scenario.inWarehouse((warehouse) =>
      lakesDdl('duckdb', publishing, warehouse),
    );
    const shown = new Map<string, unknown>();
    for (const view of views) {
      shown.set(
        view,
        await query(scenario, all(`(select columns(c -> c <> '_load_id') from ${view})`)),
      );
    }
    nights.push({ ddl, shown });
  }
  const comments = `select table_name, column_name, comment from duckdb_columns()
    where table_name in ('by_day_final', 'by_day_cohorts') and column_name <> '_load_id' order by all`;
  const said = await query(scenario, comments);
  expect(said.every(({ comment }) => comment !== null)).toBe(true);
  for (const { ddl, shown } of nights) {
    const found = await answersOf(ddl, [...views.map((view) => all(`lake.${view}`)), comments]);
    expect(found.pop()).toEqual(said);
    for (const [at, view] of views.entries()) expect(found[at], view).toEqual(shown.get(view));
  }
  const [older, tonight] = nights;
  for (const view of views) {
    expect(await ask(join(lake, 'catalog.duckdb'), all(view)), view).toEqual(
      tonight?.shown.get(view),
    );
    expect(older?.shown.get(view), view).not.toEqual(
      view.startsWith('undated') ? null : tonight?.shown.get(view),
    );
  }
  for (const { name } of slices) {
    const final = await query(scenario, `select * from ${name}_final`);
    for (const metric of ['installs', 'cohort_size']) {
      const isShown = final.some((row) => row[metric] !== null);
      expect(isShown, `${name}.${metric}`).toBe(metric === 'installs');
    }
    expect(final.some((row) => row['installs'] === null)).toBe(name !== 'undated');
  }
  const cells = await query(
    scenario,
    'select distinct metric, age_days, is_final from by_day_cohorts order by all',
  );
  expect(cells.length).toBeGreaterThan(3);
});
