/** 20 small answers that are read as one: what is wrong with one of them is its own affair, and nothing is left of any. */

import { existsSync } from 'node:fs';

import { afterEach, beforeEach, expect, test, vi } from 'vitest';

import { ReadPages } from '../../src/load/read-pages.ts';
import { day } from '../../src/model/calendar.ts';
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
const [FIRST, ODD, BEFORE_ODD, AFTER_ODD, LAST] = [
  '2026-01-05',
  '2026-03-10',
  '2026-03-08',
  '2026-03-16',
  '2026-05-25',
];
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

/** Befalls the answers that hold the odd day. */
function befall(fault: Fault, times = Infinity): void {
  scenario.simulator.script({ match: reports({ date_period: holds(ODD) }), times, fault });
}

const isOdd = (row: string): boolean => /2026-03-(?:09|1[0-5])/.test(row);

async function expectWholeBut(isLacking: (row: string) => boolean): Promise<void> {
  const { stored, truth } = await storedAndTrue(scenario, daily, `${FIRST}:${LAST}`, NOW);
  expect(truth.length).toBeGreaterThan(WINDOWS * 7);
  expect(stored).toEqual(truth.filter((row) => !isLacking(row)));
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
  await expectWholeBut(() => false);
});

test.each<[string, Fault]>([
  ['holds a key that nobody asked for', { kind: 'report', mutate: extraKey('surprise', 1) }],
  ['holds a row twice', { kind: 'report', mutate: duplicatedRow(0) }],
  ['has no rows but null', { kind: 'report', mutate: nullRows() }],
])(
  'of 20 answers the one that %s, once, costs none of the others, and all is stored in the end',
  async (_, fault) => {
    befall(fault, 1);
    const summary = await runNight(scenario, NOW);
    expect(summary).toMatchObject({ status: 'succeeded', failures: [] });
    await expectWholeBut(() => false);
  },
);

test.each<[string, Fault]>([
  ['does not add up', { kind: 'report', mutate: wrongTotal('installs', 1) }],
  [
    'holds a text that is no number',
    { kind: 'report', mutate: replacedValue(0, 'installs', 'many') },
  ],
  [
    'holds a day of another window',
    { kind: 'report', mutate: replacedValue(0, 'day', '2026-04-20') },
  ],
])(
  'of 20 answers the one that %s, each time, fails alone, and the other 19 are stored',
  async (_, fault) => {
    befall(fault);
    const summary = await runNight(scenario, NOW);
    expect(summary.status).toBe('partial');
    expect(summary.failures.length).toBeGreaterThan(0);
    for (const { window } of summary.failures)
      expect((window ?? '') > BEFORE_ODD && (window ?? '') < AFTER_ODD).toBe(true);
    const { stored, truth } = await storedAndTrue(scenario, daily, `${FIRST}:${LAST}`, NOW);
    expect(stored.filter((row) => !isOdd(row))).toEqual(truth.filter((row) => !isOdd(row)));
    expect(existsSync(`${scenario.config.warehouse}.spool`)).toBe(false);
  },
);
