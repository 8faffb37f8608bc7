/** 20 small answers that are read as one: what is wrong with one of them is its own affair, and nothing is left of any. */

import { existsSync } from 'node:fs';

import { afterEach, beforeEach, expect, test, vi } from 'vitest';

import { ReadPages } from '../../src/load/read-pages.ts';
import { addDays, day } from '../../src/model/calendar.ts';
import type { Fault } from '../support/simulator/faults.ts';
import { column, storedAndTrue } from '../support/contents.ts';
import { limitToWeeks, holds, reports, runNight, smallWorld } from '../support/night.ts';
import {
  duplicatedRow,
  extraKey,
  nullRows,
  replacedValue,
  wrongTotal,
} from '../support/report-mutations.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

const NOW = new Date('2026-06-01T02:30:00Z');
const [FIRST, LAST] = ['2026-01-05', '2026-05-25'];
/** The first days of windows whose answers are odd, each in its own way. */
const ODD = [day('2026-02-02'), day('2026-03-09'), day('2026-04-06')];
/** Windows of 7 days, all of them under way at once. */
const WINDOWS = 20;

const given = {
  name: 'daily',
  dimensions: ['day', 'os_name'],
  metrics: ['installs', 'cost', 'ecpi'],
  datePeriod: { first: { day: day(FIRST) }, last: { day: day(LAST) } },
} as const;
const daily = slice(given);

let scenario: Scenario;
let reading: ReturnType<typeof spied>;

/** Watches how many answers are read at once, which stays as it is. */
const spied = () => vi.spyOn(ReadPages.prototype, 'readAll');
const mostTogether = (): number => Math.max(...reading.mock.calls.map(([batch]) => batch.length));

beforeEach(async () => {
  reading = spied();
  scenario = await openScenario([daily], { simulator: { world: smallWorld } });
  await limitToWeeks(scenario, NOW);
});

afterEach(async () => {
  reading.mockRestore();
});

/** Befalls the answers of each odd window with a fault of its own. */
function befall(faults: readonly Fault[], times = Infinity): void {
  for (const [at, fault] of faults.entries())
    scenario.simulator.script({
      match: reports({ date_period: holds(ODD[at] ?? '') }),
      times,
      fault,
    });
}

/** Whether a row, or a window, begins in one of the odd windows. */
const isOdd = (date: string): boolean =>
  ODD.some((first) => first <= date && date < addDays(first, 7));
const dayOf = (row: string): string => row.slice(2, 12);

async function expectWhole(): Promise<void> {
  const { stored, truth } = await storedAndTrue(scenario, daily, `${FIRST}:${LAST}`, NOW);
  expect(truth.length).toBeGreaterThan(WINDOWS * 7);
  expect(stored).toEqual(truth);
  expect(existsSync(`${scenario.config.warehouse}.spool`)).toBe(false);
}

test('20 answers of 7 days are read together, and each is a load of its own', async () => {
  const summary = await runNight(scenario, NOW);
  expect(summary).toMatchObject({ status: 'succeeded', failures: [] });
  expect(mostTogether()).toBeGreaterThan(3);
  expect(await column(scenario, 'select count(*) from ripen.loads where rows_loaded > 0')).toEqual([
    // With that of the newest day.
    String(WINDOWS + 1),
  ]);
  // As its own answer, not as the file they shared.
  expect(
    await column(
      scenario,
      `select count(*) from daily as d join ripen.loads as l on l.load_id = d._load_id
       where d.day < l.start_day or d.day >= l.end_day`,
    ),
  ).toEqual(['0']);
  await expectWhole();
});

test('of 20 answers 3 that hold a key nobody asked for, a row twice, or null for rows, once, cost none of the others, and all is stored in the end', async () => {
  const mutations = [extraKey('surprise', 1), duplicatedRow(0), nullRows()];
  befall(
    mutations.map((mutate) => ({ kind: 'report', mutate })),
    1,
  );
  const summary = await runNight(scenario, NOW);
  expect(summary).toMatchObject({ status: 'succeeded', failures: [] });
  await expectWhole();
});

test('of 20 answers 3 that do not add up, hold a text that is no number, or a day of another window, each time, fail alone, and the other 17 are stored', async () => {
  const mutations = [
    wrongTotal('installs', 1),
    replacedValue(0, 'installs', 'many'),
    replacedValue(0, 'day', '2026-04-20'),
  ];
  befall(mutations.map((mutate) => ({ kind: 'report', mutate })));
  const summary = await runNight(scenario, NOW);
  expect(summary.status).toBe('partial');
  const failed = summary.failures.map(({ window }) => (window ?? '').slice(0, 10));
  expect(failed.filter((first) => !isOdd(first))).toEqual([]);
  for (const first of ODD)
    expect(failed.some((date) => first <= date && date < addDays(first, 7))).toBe(true);
  const { stored, truth } = await storedAndTrue(scenario, daily, `${FIRST}:${LAST}`, NOW);
  const isUsual = (row: string): boolean => !isOdd(dayOf(row));
  expect(stored.filter(isUsual)).toEqual(truth.filter(isUsual));
  expect(existsSync(`${scenario.config.warehouse}.spool`)).toBe(false);
});
