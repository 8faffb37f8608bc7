/** Answers without rows, or with the newest alone: asked for once more, told, and final only once a later run agrees. */

import { expect, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import type { Slice } from '../../src/model/slice.ts';
import type { Fault } from '../support/simulator/faults.ts';
import { rowsOf, type ReportMutation } from '../support/simulator/mutations.ts';
import { column, lastRun, query, storedAndTrue } from '../support/contents.ts';
import { textWith } from '../support/matching.ts';
import { reports, runNight } from '../support/night.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

let scenario: Scenario;

const world = { apps: 1, partners: 2, links: 4, rowsPerDay: 6 } as const;
const FIRST = new Date('2026-06-01T02:30:00Z');
const SECOND = new Date('2026-06-02T02:30:00Z');
const THIRD = new Date('2026-06-03T02:30:00Z');
const MAY = '2026-05-01:2026-05-31';

const month = slice({
  name: 'daily',
  dimensions: ['day', 'os_name'],
  metrics: ['installs', 'cost'],
  datePeriod: { first: { day: day('2026-05-01') }, last: { day: day('2026-05-31') } },
});
const nothing: Fault = { kind: 'status', status: 204, body: 'empty' };
const cancelled: Fault = {
  kind: 'status',
  status: 200,
  body: { text: '{"rows":[],"totals":{},"error":"query cancelled"}', contentType: 'application/json' },
};

/** Only rows from a day on, without totals. */
const newestOnly =
  (from: string): ReportMutation =>
  (document) => ({ ...document, rows: rowsOf(document).filter((row) => String(row['day']) >= from), totals: {} });

const script = (times: number, fault: Fault): (() => void) =>
  scenario.simulator.script({ match: reports(), times, fault });
const told = (code: string): string[] =>
  scenario.events.flatMap((event) => (event.type === 'warning' && event.code === code ? [event.message] : []));
const finalRows = (): Promise<string[]> => column(scenario, 'select count(installs) from daily_final');
const states = (): Promise<string[]> =>
  column(scenario, "select state || ' ' || count(*) from ripen.periods group by state order by state");

async function equalsTruth(declared: Slice, days: string, now: Date): Promise<void> {
  const { stored, truth } = await storedAndTrue(scenario, declared, days, now);
  expect(truth.length).toBeGreaterThan(30);
  expect(stored).toEqual(truth);
}

test.each<[string, Fault]>([
  ['one 204', nothing],
  ['one answer of the newest 5 days without totals', { kind: 'report', mutate: newestOnly('2026-05-27') }],
  ['one {"rows":[],"totals":{},"error":"query cancelled"}', cancelled],
])('%s in a first load of 31 days is a hiccup: asked for once more, nothing is lost', async (_, fault) => {
  scenario = await openScenario([month], { simulator: { world } });
  script(1, fault);
  const summary = await runNight(scenario, FIRST);

  expect(summary).toMatchObject({ status: 'succeeded', failures: [], slices: [{ empty_periods: [], requests: 6 }] });
  await equalsTruth(month, MAY, FIRST);
});

test('26 of 31 days that come empty twice are loaded as empty, named, final for nobody, and mended by the next night', async () => {
  scenario = await openScenario([month], { simulator: { world } });
  const restore = script(Infinity, { kind: 'report', mutate: newestOnly('2026-05-27') });
  const summary = await runNight(scenario, FIRST);
  restore();

  expect(summary).toMatchObject({ status: 'succeeded', slices: [{ empty_periods: ['2026-05-01:2026-05-26'] }] });
  expect(told('EMPTY_PERIODS').length).toBe(5);
  expect(told('EMPTY_PERIODS')).toContainEqual(textWith('2026-05-25:2026-05-26'));
  expect(await column(scenario, "select count(*) from ripen.warnings where code = 'EMPTY_PERIODS'")).toEqual(['5']);
  expect(await states()).toEqual(['empty 26', 'maturing 5']);
  expect(await query(scenario, "select 1 from ripen.finality where is_final and period < '2026-05-27'")).toEqual([]);

  const mended = await runNight(scenario, SECOND);
  expect(mended.slices[0]?.periods).toMatchObject({ empty: 26 });
  expect(mended.slices[0]?.empty_periods).toEqual([]);
  expect((await states()).find((each) => each.startsWith('empty'))).toBeUndefined();
  const { stored, truth } = await storedAndTrue(scenario, month, '2026-05-01:2026-05-26', SECOND);
  expect(stored.filter((row) => row < '["2026-05-27')).toEqual(truth);
});

test('31 days that are empty in fact are confirmed by the second night, final then where they are old, and left alone', async () => {
  scenario = await openScenario([month], {
    simulator: { world: { ...world, quirks: { emptied: () => true } } },
  });
  expect((await runNight(scenario, FIRST)).slices[0]?.empty_periods).toEqual([MAY]);
  expect(await states()).toEqual(['empty 31']);

  await runNight(scenario, SECOND);
  expect((await states()).map((each) => each.split(' ')[0])).toEqual(['final', 'maturing']);
  const later = new Date('2026-07-20T02:30:00Z');
  await runNight(scenario, later);
  expect(await states()).toEqual(['final 31']);
  scenario.simulator.asked.reset();
  await runNight(scenario, new Date('2026-07-21T02:30:00Z'));
  expect(scenario.simulator.asked.counts.report).toBe(0);
});

const nightly = slice({
  name: 'daily',
  dimensions: ['day', 'os_name'],
  metrics: ['installs', 'cohort_size_d60'],
  datePeriod: { first: { day: day('2026-03-31') }, last: { daysAgo: 1 } },
  refresh: 'nightly',
});

test('204 for a whole night keeps the settled days of 62, empties the 7 youngest with a warning, and the next night mends them', async () => {
  scenario = await openScenario([nightly], { simulator: { world } });
  await runNight(scenario, FIRST);
  const before = await column(
    scenario,
    "select day || ' ' || installs from daily where day < '2026-05-25' order by all",
  );
  const restore = script(Infinity, nothing);
  const summary = await runNight(scenario, SECOND);
  restore();

  expect(summary.status).toBe('partial');
  expect(new Set(summary.failures.map(({ code }) => code))).toEqual(new Set(['DATA_SHRUNK']));
  expect(summary.slices[0]?.empty_periods.join()).toMatch(/2026-06-01$/);
  expect(await lastRun(scenario)).toMatchObject({ exit_code: 65 });
  expect(
    await column(scenario, "select day || ' ' || installs from daily where day < '2026-05-25' order by all"),
  ).toEqual(before);
  const emptied = 'period in (select start_day from ripen.periods where rows = 0)';
  expect(await query(scenario, `select 1 from ripen.finality where is_final and ${emptied}`)).toEqual([]);

  expect((await runNight(scenario, THIRD)).failures).toEqual([]);
  expect(await column(scenario, 'select count(*) from ripen.periods where rows = 0')).toEqual(['0']);
  await equalsTruth(nightly, '2026-03-31:2026-06-02', THIRD);
});

test('{"rows":[],"totals":{},"error":"query cancelled"} all night is no answer: 31 days fail in its words, and none is called empty', async () => {
  scenario = await openScenario([month], { simulator: { world } });
  const restore = script(Infinity, cancelled);
  const summary = await runNight(scenario, FIRST);
  restore();

  expect(summary.failures.map(({ message }) => message)).toEqual(
    Array.from({ length: 5 }, () => textWith('query cancelled')),
  );
  expect(summary.slices[0]?.empty_periods).toEqual([]);
  expect(await lastRun(scenario)).toMatchObject({ exit_code: 65 });
  expect(await finalRows()).toEqual(['0']);
  expect(await states()).toEqual([]);
  await runNight(scenario, SECOND);
  await equalsTruth(month, MAY, SECOND);
});
