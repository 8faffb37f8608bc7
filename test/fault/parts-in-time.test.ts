/** A service that is too heavy for a while: what a day had to be divided into then is tried as a whole again, once a week. */

import { afterEach, expect, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import type { FaultedRequest } from '../support/simulator/faults.ts';
import { column, storedAndTrue } from '../support/contents.ts';
import { askedReports, runNight } from '../support/night.ts';
import { limitedRows } from '../support/report-mutations.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

let scenario: Scenario;

afterEach(() => scenario.close());

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

test('a day that needed 2 parts and the whole is asked for undivided once a week, for 1 request more at most, until that is light', async () => {
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

test('of 3 days in parts only the oldest is tried as a whole; as it is light, the night after asks for each of them so', async () => {
  const three = slice({ ...wide, datePeriod: { first: { day: day('2026-05-29') }, last: { day: MAY_31 } } });
  scenario = await openScenario([three], { simulator: { world: { apps: 2, partners: 3, links: 12, rowsPerDay: 40 } } });
  const restore = scenario.simulator.script({ match: isUndivided, times: Infinity, fault: undivided.heavy });
  const asked = async (night: number): Promise<string[]> => {
    scenario.simulator.asked.reset();
    expect((await runNight(scenario, june(night))).failures).toEqual([]);
    const reports = askedReports(scenario).filter(({ query }) => query.get('dimensions')?.includes('network') === true);
    return reports.map(({ period }) => period).sort();
  };
  await asked(1);
  restore();
  expect(await column(scenario, 'select json_array_length(parts) from ripen.slice_tables')).toEqual(['2']);
  const [oldest, next, newest] = ['2026-05-29:2026-05-29', '2026-05-30:2026-05-30', '2026-05-31:2026-05-31'];
  expect(await asked(7)).toEqual([oldest, oldest, next, next, newest, newest]);
  const two = '2026-05-30:2026-05-31';
  expect(await asked(8)).toEqual([oldest, two, two]);
  // Of so many days as were light: one.
  expect(await asked(9)).toEqual([oldest, next, newest]);
  expect(await asked(10)).toEqual([oldest, two]);
});
