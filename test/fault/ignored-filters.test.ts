/** Filters of a dimension's values that the service does not heed: the rows are loaded, and it is told. */

import { afterEach, expect, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import { type ReportMutation, withEachRow } from '../support/simulator/mutations.ts';
import { column, query } from '../support/contents.ts';
import { reports, runNight, smallWorld } from '../support/night.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

const NOW = new Date('2026-06-01T02:30:00Z');
const given = {
  name: 'daily',
  dimensions: ['day', 'app_token', 'os_name'],
  metrics: ['installs'],
  datePeriod: { first: { day: day('2026-05-30') }, last: { day: day('2026-05-31') } },
} as const;

let scenario: Scenario;
afterEach(() => scenario.close());

/** What a night of two systems warns of, when they are renamed so and the filter is sent. */
async function warned(filter: string, name: (row: number) => string): Promise<Record<string, unknown>[]> {
  const filtered = slice({ ...given, parameters: { os_name__in: filter } });
  scenario = await openScenario([filtered], { simulator: { world: smallWorld } });
  const mutate: ReportMutation = (document) => {
    let at = 0;
    return withEachRow(document, (row) => ({ ...row, app_token: `app${at}`, os_name: name(at++) }));
  };
  scenario.simulator.script({ match: reports(), times: Infinity, fault: { kind: 'report', mutate } });
  const summary = await runNight(scenario, NOW);
  expect(summary).toMatchObject({ status: 'succeeded', failures: [] });
  expect(Number((await column(scenario, 'select count(*) from daily'))[0])).toBeGreaterThan(2);
  return query(scenario, 'select code, message from ripen.warnings');
}

test('rows of a system that the filter does not name are loaded, with a warning that names filter, count and examples', async () => {
  const told = await warned('ios,android', (row) => ['ios', 'windows', 'Android', 'linux'][row] ?? 'android');
  expect(told).toEqual([
    {
      code: 'FILTER_IGNORED',
      message:
        '2 rows had values of os_name that os_name__in does not name, such as "linux", "windows": the service ignored the filter, or part of it. They were loaded.',
    },
  ]);
});

test.each<[string, string, (row: number) => string]>([
  ['are written in other letter case', 'ios,android', (row) => ['iOS', 'ANDROID'][row % 2] ?? ''],
  ['have names where the filter has ids', 'ios,android', (row) => ['System 1', 'System 2'][row % 2] ?? ''],
])('nothing is told of a filter whose rows %s', async (_, filter, name) => {
  expect(await warned(filter, name)).toEqual([]);
});
