/** A warehouse that was lost: its published snapshot is a whole copy of it. */

import { copyFile, rm } from 'node:fs/promises';
import { join } from 'node:path';

import { afterEach, expect, test } from 'vitest';

import type { Config } from '../../src/config/config.ts';
import { column } from '../support/contents.ts';
import { askedReports } from '../support/night.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

const daily = slice({
  name: 'daily',
  dimensions: ['day', 'network'],
  metrics: ['installs', 'cost', 'all_revenue_total_d7'],
  datePeriod: { first: { daysAgo: 20 }, last: { daysAgo: 1 } },
});
const world = { world: { apps: 1, partners: 2, links: 4, rowsPerDay: 20 } };
const [first, second, third] = ['2026-06-05', '2026-06-06', '2026-06-07'].map((day) => new Date(`${day}T02:30:00Z`));

const open: Scenario[] = [];
afterEach(async () => {
  for (const scenario of open.splice(0)) await scenario.close();
});

const publishing = ({ directory }: Scenario): Partial<Config> => ({
  publish: [
    { kind: 'duckdb', path: join(directory, 'analytics.duckdb'), mode: 0o640 },
    { kind: 'parquet', path: join(directory, 'lake'), mode: 0o640 },
  ],
});

/** An installation after two nights. */
async function twoNights(): Promise<Scenario> {
  const scenario = await openScenario([daily], { simulator: world });
  open.push(scenario);
  for (const at of [first, second]) if (at !== undefined) await scenario.night(at, publishing(scenario));
  return scenario;
}

test('goes on from its snapshot, copied to its place, as if it had never been lost', async () => {
  if (third === undefined) throw new RangeError('There are three nights.');
  const kept = await twoNights();
  const lost = await twoNights();
  await rm(lost.config.warehouse);
  await expect(lost.night(third, publishing(lost))).rejects.toMatchObject({
    code: 'WAREHOUSE_FOREIGN',
    hint: 'Publish to a path of its own. If its warehouse was lost, copy the published snapshot to its place, or move the copy away to begin anew.',
  });
  await copyFile(join(lost.directory, 'analytics.duckdb'), lost.config.warehouse);

  const [expected, summary] = [await kept.night(third, publishing(kept)), await lost.night(third, publishing(lost))];
  expect(summary).toMatchObject({
    failures: [],
    slices: expected.slices.map(({ restated_periods: count }) => ({ restated_periods: count })),
  });
  expect(askedReports(lost)).toEqual(askedReports(kept));
  const rows = 'select d::varchar from (select * exclude (_load_id) from daily) as d order by all';
  const held = 'select start_day::varchar || fetched_at || state || rows from ripen.periods order by all';
  const restated = 'select period::varchar || metric || before || after from ripen.restatements order by all';
  for (const sql of [rows, held, restated]) expect(await column(lost, sql)).toEqual(await column(kept, sql));
});
