/** A service that is too heavy for a while: what a day had to be divided into then is requested as a whole again, once a week. */

import { expect, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import type { FaultedRequest } from '../support/simulator/faults.ts';
import { storedAndTrue } from '../support/contents.ts';
import { askedReports, runNight } from '../support/night.ts';
import { limitedRows } from '../support/report-mutations.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

let scenario: Scenario;

const MAY_31 = day('2026-05-31');
/** One day, asked for again each night. */
const wide = slice({
  name: 'wide',
  dimensions: ['day', 'app_token', 'network', 'os_name'],
  metrics: ['installs', 'all_revenue_total_d30'],
  datePeriod: { first: { day: MAY_31 }, last: { day: MAY_31 } },
  refresh: 'nightly',
});
const june = (night: number): Date => new Date(Date.UTC(2026, 5, night, 2, 30));

/** A report by all dimensions that no values narrow. */
const isUndivided = ({ path, query }: FaultedRequest): boolean =>
  path.endsWith('/report') &&
  query.get('dimensions')?.includes('network') === true &&
  ![...query.keys()].some((key) => key.includes('__'));

const undivided = {
  heavy: { kind: 'status', status: 504 },
  cut: { kind: 'report', mutate: limitedRows(5, null) },
} as const;

/** The reports that a night took, and how many of them were refused; whatever it took, the day is stored as it is. */
async function costOf(night: number, fault: keyof typeof undivided | 'light'): Promise<string> {
  const restore =
    fault === 'light'
      ? () => {}
      : scenario.simulator.script({ match: isUndivided, times: Infinity, fault: undivided[fault] });
  scenario.simulator.asked.reset();
  const summary = await runNight(scenario, june(night));
  restore();
  expect(summary).toMatchObject({ status: 'succeeded', failures: [] });
  const { stored, truth } = await storedAndTrue(scenario, wide, '2026-05-31:2026-05-31', june(night));
  expect(stored).toEqual(truth);
  const asked = askedReports(scenario);
  return `night ${night}, ${fault}: ${asked.length} reports, ${asked.filter(({ status }) => status === 504).length} refused`;
}

test('a day that needed 2 parts and the whole is requested undivided once a week, for 1 request more at most, until that is light', async () => {
  scenario = await openScenario([wide], { simulator: { world: { apps: 2, partners: 3, links: 12, rowsPerDay: 40 } } });
  const nights = [
    [1, 'heavy', '4 reports, 1 refused'],
    [2, 'heavy', '3 reports, 0 refused'],
    [7, 'heavy', '3 reports, 0 refused'],
    [8, 'heavy', '4 reports, 1 refused'],
    [9, 'light', '3 reports, 0 refused'],
    [14, 'light', '3 reports, 0 refused'],
    [15, 'cut', '4 reports, 0 refused'],
    [16, 'light', '3 reports, 0 refused'],
    [22, 'light', '1 reports, 0 refused'],
    [23, 'light', '1 reports, 0 refused'],
    [24, 'heavy', '4 reports, 1 refused'],
    [25, 'light', '3 reports, 0 refused'],
  ] as const;
  const costs: string[] = [];
  for (const [night, fault] of nights) costs.push(await costOf(night, fault));
  expect(costs).toEqual(nights.map(([night, fault, cost]) => `night ${night}, ${fault}: ${cost}`));
}, 200_000);
