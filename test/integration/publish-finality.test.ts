/** What the lake says of final cells: its `_final` views answer as the warehouse's do. */

import { stat } from 'node:fs/promises';
import { join } from 'node:path';

import { expect, onTestFinished, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import type { DatePeriod } from '../../src/model/slice.ts';
import type { Published } from '../../src/publish/publish.ts';
import { query } from '../support/contents.ts';
import { smallWorld } from '../support/night.ts';
import { ask, openSample } from '../support/sample-warehouse.ts';
import { openScenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

const metrics = ['installs', 'cost', 'ecpi', 'all_revenue_total_d10', 'cohort_size'];
/** Until the day before each night. */
const since = (first: string): DatePeriod => ({ first: { day: day(first) }, last: { daysAgo: 1 } });

const slices = [
  slice({ name: 'by_hour', dimensions: ['hour', 'app_token'], metrics, datePeriod: since('2026-03-20') }),
  slice({ name: 'by_day', dimensions: ['app_token', 'day'], metrics, datePeriod: since('2026-03-01') }),
  slice({ name: 'by_week', dimensions: ['week', 'os_name'], metrics, datePeriod: since('2026-02-16') }),
  slice({
    name: 'undated',
    dimensions: ['app_token'],
    metrics,
    datePeriod: { first: { day: day('2026-02-01') }, last: { day: day('2026-02-28') } },
  }),
];

test('the final views beside Delta tables by hour, day, week and without a date show the cells the warehouse shows', async () => {
  const scenario = await openScenario(slices, { simulator: { world: smallWorld } });
  onTestFinished(async () => scenario.close());
  const lake = join(scenario.directory, 'lake');
  const publishing = { publish: [{ kind: 'delta', path: lake, mode: 0o644, keepMs: 86_400_000 }] } as const;
  await scenario.night(new Date('2026-04-01T06:00:00Z'), publishing);
  const summary = await scenario.night(new Date('2026-04-03T06:00:00Z'), publishing);
  expect(summary.status).toBe('succeeded');
  for (const { name } of slices) {
    const sql = (columns: string): string => `select ${columns} from ${name}_final order by all`;
    const final = await query(scenario, sql('* exclude (_load_id)'));
    expect(await ask(join(lake, 'catalog.duckdb'), sql('*'))).toEqual(final);
    for (const metric of ['installs', 'cohort_size']) {
      const shown = final.filter((row) => row[metric] !== null).length;
      expect(shown > 0, `${name}.${metric}`).toBe(metric === 'installs');
    }
    expect(final.some((row) => row['installs'] === null)).toBe(name !== 'undated');
  }
});

test('a day that became final changes the two files that say so, and no file of the slice', async () => {
  const sample = await openSample(12, 20);
  onTestFinished(async () => sample.close());
  const publishLake = (): Promise<readonly Published[]> =>
    sample.publish([{ kind: 'delta', path: sample.path('lake'), mode: 0o644, keepMs: 86_400_000 }]);
  const finalInstalls = (): Promise<Record<string, unknown>[]> =>
    ask(
      sample.path('lake/catalog.duckdb'),
      'select count(installs)::integer as installs, count(cost)::integer as cost, count(network)::integer as network from network_daily_final',
    );
  await publishLake();
  expect(await finalInstalls()).toEqual([{ installs: 2 * 20, cost: 0, network: 12 * 20 }]);
  await sample.warehouse.run(
    `update ripen.periods set whole = true, sound_at = fetched_at where start_day = DATE '2026-01-05'`,
  );
  const folder = sample.path('lake/network_daily/day=2026-01-05');
  const before = (await stat(folder)).mtimeMs;
  expect(await publishLake()).toMatchObject([{ files_written: 2 }]);
  expect((await stat(folder)).mtimeMs).toBe(before);
  expect(await finalInstalls()).toEqual([{ installs: 3 * 20, cost: 0, network: 12 * 20 }]);
});
