/**
 * A cube of three metrics at 121 ages over many nights of the real pipeline: every final row is what the service says in the end, and
 * what was requested is a fraction of all ages of every maturing day. `RIPEN_CUBE_NIGHTS=180` is the long form.
 */

import { expect, test } from 'vitest';
import * as z from 'zod';

import { addDays, day, lastDay } from '../../src/model/calendar.ts';
import { agesIn, cubeMetrics } from '../../src/model/cube.ts';
import { column, query } from '../support/contents.ts';
import { askedReports, daysOf, recordSlowRows, runNight } from '../support/night.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';
import { truthRows } from '../support/truth.ts';

const NIGHTS = Number(process.env['RIPEN_CUBE_NIGHTS'] ?? 3);
const HISTORY_DAYS = 130;
const START = day('2025-01-01');
/** Nothing moves any more so long after. */
const TRUTH_AFTER_DAYS = 400;
const MS_PER_NIGHT = 60_000;

const ages = agesIn('d0..d120') ?? [];
const cube = cubeMetrics({ all_revenue_total: ages, retained_users: ages, cohort_size: ages });
const curve = slice({
  name: 'curve',
  dimensions: ['day', 'app_token', 'network', 'country_code'],
  metrics: cube.map(({ metric }) => metric),
  cube,
  datePeriod: { first: { day: START }, last: { daysAgo: 1 } },
});

let scenario: Scenario;

test(
  `${NIGHTS} nights of 363 metrics: every final row is right, for at most 0.15 of all ages of every maturing day`,
  async () => {
    const world = { apps: 1, partners: 3, links: 6, rowsPerDay: 8 };
    scenario = await openScenario([curve], { simulator: { world } });
    const requested = { cells: 0, requests: 0, allCells: 0, allRequests: 0 };
    const nightAt = (night: number): Date =>
      new Date(`${addDays(START, HISTORY_DAYS + night)}T06:00:00Z`);
    for (let night = 0; night < NIGHTS; night += 1) {
      scenario.simulator.requested.reset();
      expect((await runNight(scenario, nightAt(night))).failures).toEqual([]);
      await recordSlowRows(scenario);
      if (night === 0) continue;
      for (const { period, query } of askedReports(scenario)) {
        requested.cells += (query.get('metrics') ?? '').split(',').length * daysOf(period);
        requested.requests += 1;
      }
      const maturing = Number(
        (
          await column(
            scenario,
            "select count(distinct start_day) from ripen.periods where state <> 'final'",
          )
        )[0],
      );
      requested.allCells += maturing * curve.metrics.length;
      requested.allRequests += Math.ceil(maturing / 31) * Math.ceil(curve.metrics.length / 60);
    }
    const [cells, requests] = [
      requested.cells / requested.allCells,
      requested.requests / requested.allRequests,
    ];
    process.stdout.write(
      `cells ${cells.toFixed(3)}, requests ${requests.toFixed(2)} of all ages each night\n`,
    );
    expect(cells).toBeLessThanOrEqual(0.15);
    expect(requests).toBeLessThanOrEqual(1.5);

    const end = addDays(START, HISTORY_DAYS + NIGHTS - 1);
    const later = new Date(`${addDays(end, TRUTH_AFTER_DAYS)}T06:00:00Z`);
    const { cube: _, ...wide } = curve;
    const truth = new Map<string, string>();
    await scenario.inWarehouse(async (warehouse) => {
      const days = `${START}:${lastDay({ start: START, end })}`;
      for (const text of await truthRows(warehouse, scenario.simulator.world, wide, days, later)) {
        const row = z.array(z.unknown()).parse(JSON.parse(text));
        const key = row.slice(0, curve.dimensions.length).join('|');
        for (const [at, metric] of curve.metrics.entries()) {
          truth.set(`${key}|${metric}`, String(row[curve.dimensions.length + at]));
        }
      }
    });
    const final = await query(
      scenario,
      `select day || '|' || app_token || '|' || network || '|' || country_code || '|' || metric as cell, rtrim(rtrim(value::varchar, '0'), '.') as value from curve_final`,
    );
    const wrong = final.filter(
      ({ cell, value }) =>
        truth.get(String(cell)) !== String(value) &&
        !(value === '' && truth.get(String(cell)) === '0'),
    );
    expect(final.length).toBeGreaterThan(10_000);
    expect(wrong.slice(0, 5)).toEqual([]);
  },
  NIGHTS * MS_PER_NIGHT,
);
