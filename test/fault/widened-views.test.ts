/** What a column that a value widened gives to those who read it by a view: the final values, cohorts, joined rows. */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import type { Config } from '../../src/config/config.ts';
import { day } from '../../src/model/calendar.ts';
import { exportSlice, type ExportOptions } from '../../src/publish/export.ts';
import { column } from '../support/contents.ts';
import { deltaRows } from '../support/delta-reader.ts';
import { reports } from '../support/night.ts';
import { combined, replacedValue } from '../support/report-mutations.ts';
import { ask } from '../support/sample-warehouse.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

const DAYS = { start: day('2026-05-01'), end: day('2026-05-04') };
const FIRST = new Date('2026-09-01T02:30:00Z');
const SECOND = new Date('2026-09-02T02:30:00Z');

const daily = slice({
  name: 'daily',
  dimensions: ['day', 'app_token', 'network'],
  metrics: ['installs', 'cost', 'all_revenue_total_d7'],
  datePeriod: { first: { day: DAYS.start }, last: { day: day('2026-05-03') } },
});

let scenario: Scenario;

async function exported(change: Partial<ExportOptions>): Promise<string> {
  const output = join(scenario.directory, 'rows.csv');
  await scenario.inWarehouse((warehouse) => exportSlice(warehouse, { slice: 'daily', output, ...change }));
  return readFile(output, 'utf8');
}

/** More digits after the point than money usually has, and more before it than a BIGINT holds. */
const wide = { cost: '0.1234567891', all_revenue_total_d7: '1.9876543219', installs: '99999999999999999999' } as const;

test('3 values for which their columns are widened are the same in each view, export and table', async () => {
  scenario = await openScenario([daily], { simulator: { world: { apps: 1, partners: 2, links: 4, rowsPerDay: 6 } } });
  const inside = (name: string): string => join(scenario.directory, name);
  const publish: Config['publish'] = [
    { kind: 'delta', path: inside('tables'), mode: 0o644, keepMs: 86_400_000 },
    { kind: 'duckdb', path: inside('snapshot.duckdb'), mode: 0o644 },
  ];
  expect(await scenario.night(FIRST, { publish })).toMatchObject({ failures: [] });
  const mutate = combined(...Object.entries(wide).map(([metric, value]) => replacedValue(0, metric, value)));
  scenario.simulator.script({ match: reports(), times: Infinity, fault: { kind: 'report', mutate } });
  const order = { command: 'backfill', slices: ['daily'], forced: DAYS } as const;
  expect(await scenario.night(SECOND, { publish }, order)).toMatchObject({ failures: [] });
  const widened = await column(scenario, "select name from ripen.schema_changes where change = 'column widened'");
  expect(widened.toSorted()).toEqual(Object.keys(wide).toSorted());

  const cells = async (change: Partial<ExportOptions>): Promise<Set<string>> =>
    new Set((await exported(change)).split(/[,\n]/).map((cell) => cell.replace(/(\.\d*[1-9])0+$/, '$1')));
  const all: unknown = expect.arrayContaining(Object.values(wide));
  expect([...(await cells({}))]).toEqual(all);
  expect([...(await cells({ finalOnly: true }))]).toEqual(all);
  expect([...(await cells({ table: 'daily_links' }))]).toEqual(all);
  expect([...(await cells({ table: 'daily_cohorts' }))]).toContain(wide.all_revenue_total_d7);
  const conditions = Object.entries(wide).map(([metric, value]) => `"${metric}" = ${value}`);
  const links = await deltaRows(inside('tables/daily_links'));
  expect(
    await ask(':memory:', `select count(*)::integer as n from (${links}) where ${conditions.join(' and ')}`),
  ).toEqual([{ n: 1 }]);
  // The types that tools read from the copy's catalog.
  const types = await ask(
    inside('snapshot.duckdb'),
    `select distinct column_name, data_type from duckdb_columns()
     where column_name in ('${Object.keys(wide).join("', '")}') and table_name in ('daily', 'daily_final', 'daily_links')`,
  );
  expect(types).toHaveLength(Object.keys(wide).length);
});
