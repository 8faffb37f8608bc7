/** FAULTS 6, 18, 41: nights that only one thing spoils, each in a world of its own. */

import { expect, onTestFinished, test, vi } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import { column, contentOf, lastRun, storedAndTrue } from '../support/contents.ts';
import { textWith } from '../support/matching.ts';
import {
  askedReports,
  daysOf,
  limitToWeeks,
  reports,
  runNight,
  smallWorld,
} from '../support/night.ts';
import { extraKey } from '../support/report-mutations.ts';
import { openScenario } from '../support/scenario.ts';
import type { Fault } from '../support/simulator/faults.ts';
import type { ReportMutation } from '../support/simulator/mutations.ts';
import { slice } from '../support/slice.ts';

const NOW = new Date('2026-06-01T02:30:00Z');
const DAYS = '2026-05-28:2026-05-31';
const world = smallWorld;

const given = {
  dimensions: ['day', 'app_token', 'os_name'],
  metrics: ['installs', 'cost', 'ecpi'],
  datePeriod: { first: { day: day('2026-05-28') }, last: { day: day('2026-05-31') } },
} as const;

const report = (mutate: ReportMutation): Fault => ({ kind: 'report', mutate });

test('one answer that nobody thought of fails alone: the windows that came with it are loaded', async () => {
  const bounds = { first: { day: day('2026-04-20') }, last: { day: day('2026-05-24') } };
  const wide = slice({ ...given, name: 'daily', datePeriod: bounds });
  const scenario = await openScenario([wide], { simulator: { world } });
  const ofNewest = reports({ date_period: (value) => value.endsWith('2026-05-24') });
  scenario.simulator.script({
    match: ofNewest,
    times: Infinity,
    fault: report(extraKey('unthought', 1)),
  });
  const parse = JSON.parse;
  const parsing = vi.spyOn(JSON, 'parse').mockImplementation((text, reviver): unknown => {
    if (text === '"unthought"') throw new RangeError('nobody thought of this');
    return parse(text, reviver);
  });
  onTestFinished(() => parsing.mockRestore());
  const { failures, slices } = await runNight(scenario, NOW);
  const days = await column(scenario, 'select distinct day::varchar from daily order by 1');
  expect(failures).toMatchObject([{ code: 'BUG', message: textWith('nobody thought of this') }]);
  expect(slices[0]?.windows.failed).toBe(1);
  expect([days[0], days.at(-1)]).toEqual(['2026-04-20', '2026-05-17']);
});

test('a week that begins within the days of another fails its window by name, and is not taken for one without rows', async () => {
  const bounds = { first: { day: day('2026-05-06') }, last: { day: day('2026-05-24') } };
  const weekly = slice({
    ...given,
    name: 'daily',
    dimensions: ['week', 'app_token'],
    datePeriod: bounds,
  });
  const scenario = await openScenario([weekly], { simulator: { world } });
  await limitToWeeks(scenario, NOW);
  const isOther = (row: unknown): boolean => JSON.stringify(row).includes('2026-05-11 - ');
  const named: ReportMutation = ({ rows, ...others }) => ({
    ...others,
    rows: Array.isArray(rows)
      ? rows.map((row: object) =>
          isOther(row) ? { ...row, week: '2026-05-13 - 2026-05-17' } : row,
        )
      : rows,
  });
  scenario.simulator.script({ match: reports(), times: Infinity, fault: report(named) });
  const summary = await runNight(scenario, NOW);
  expect(summary.failures).toMatchObject([
    { code: 'DATA_MALFORMED', message: textWith('week of 2026-05-13 begins on wednesday') },
  ]);
  expect(await column(scenario, 'select distinct week::varchar from daily order by 1')).toEqual([
    '2026-05-04',
    '2026-05-18',
  ]);
  expect(
    await column(scenario, "select count(*) from ripen.periods where state = 'empty' or rows = 0"),
  ).toEqual(['0']);
});

test('a report with a limit of 5 rows is divided until each part has fewer, without totals to tell it', async () => {
  const limited = slice({
    ...given,
    name: 'daily',
    dimensions: ['day', 'app_token'],
    parameters: { limit: '5' },
  });
  const scenario = await openScenario([limited], { simulator: { world } });
  const silent = report((document) => ({ ...document, totals: {} }));
  scenario.simulator.script({ match: reports(), times: Infinity, fault: silent });
  const summary = await runNight(scenario, NOW);
  expect(summary.failures).toEqual([]);
  const { stored, truth } = await storedAndTrue(
    scenario,
    slice({ ...limited, parameters: {} }),
    DAYS,
    NOW,
  );
  expect(stored).toEqual(truth);
  expect(askedReports(scenario).some(({ period }) => daysOf(period) < 4)).toBe(true);
});

test('a 401 at the start stops at once: 1 request, nothing touched, exit code 78', async () => {
  const scenario = await openScenario([slice({ ...given, name: 'daily', refresh: 'nightly' })], {
    simulator: { world },
  });
  await runNight(scenario, NOW);
  const before = await contentOf(scenario, 'daily');
  scenario.simulator.setToken('another');
  scenario.simulator.requested.reset();
  const summary = await runNight(scenario, new Date('2026-06-02T02:30:00Z'));
  expect(scenario.simulator.requested.requests.map(({ status }) => status)).toEqual([401]);
  expect(summary.failures).toMatchObject([{ code: 'CREDENTIALS_REFUSED', slice: null }]);
  expect(await contentOf(scenario, 'daily')).toEqual(before);
  expect(await lastRun(scenario)).toEqual({ status: 'failed', exit_code: 78 });
});
