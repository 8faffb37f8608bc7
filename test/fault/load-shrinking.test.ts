/** Answers that would take most of settled days: asked for once more, then held, day by day, until somebody says that it is right. */

import { beforeEach, expect, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import type { Fault } from '../support/simulator/faults.ts';
import { rowsOf, type ReportMutation } from '../support/simulator/mutations.ts';
import { column, contentOf, lastRun } from '../support/contents.ts';
import { textWith } from '../support/matching.ts';
import { askedReports, reports, runNight, smallWorld } from '../support/night.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

let scenario: Scenario;

const FIRST = new Date('2026-05-20T02:30:00Z');
/** 8 days after 23 May ended. */
const LATER = new Date('2026-06-01T02:30:00Z');

const daily = slice({
  name: 'daily',
  dimensions: ['day', 'app_token', 'os_name'],
  metrics: ['installs', 'cost'],
  datePeriod: { first: { day: day('2026-05-01') }, last: { daysAgo: 1 } },
});
const settled = { start: day('2026-05-10'), end: day('2026-05-14') };
const inSettled = "(from daily where day >= '2026-05-10' and day < '2026-05-14')";
const nothing: Fault = { kind: 'status', status: 204, body: 'empty' };

beforeEach(async () => {
  scenario = await openScenario([daily], { simulator: { world: smallWorld } });
  await runNight(scenario, FIRST);
  scenario.simulator.asked.reset();
});

const script = (times: number, fault: Fault): void => {
  scenario.simulator.script({ match: reports(), times, fault });
};
const backfill = (acceptLoss = false): ReturnType<typeof runNight> =>
  runNight(scenario, LATER, { request: { command: 'backfill', slices: ['daily'], forced: settled, acceptLoss } });

/** Only the first so many rows of each day, of some days; the others whole. Without totals. */
const kept =
  (rowsADay: number, isOf: (day: string) => boolean = () => true): ReportMutation =>
  (document) => {
    const seen = new Map<string, number>();
    const rows = rowsOf(document).filter((row) => {
      const of = String(row['day']);
      seen.set(of, (seen.get(of) ?? 0) + 1);
      return !isOf(of) || (seen.get(of) ?? 0) <= rowsADay;
    });
    return { ...document, rows, totals: {} };
  };

test.each<[string, Fault]>([
  ['204', nothing],
  ['no rows under 200', { kind: 'report', mutate: kept(0) }],
  ['1 of 4 rows a day', { kind: 'report', mutate: kept(1) }],
])(
  '%s for 4 days that ended 18 days ago is asked for twice, then the old rows stay, with exit code 65',
  async (_, fault) => {
    const before = await contentOf(scenario, inSettled);
    script(Infinity, fault);
    const summary = await backfill();

    expect(scenario.simulator.asked.counts.report).toBe(2);
    expect(summary.failures).toMatchObject([
      {
        code: 'DATA_SHRUNK',
        window: '2026-05-10:2026-05-13',
        message: textWith(`${before.length} were loaded before`),
        hint: textWith('ripen backfill --slice daily --from 2026-05-10 --to 2026-05-13 --accept-loss'),
      },
    ]);
    expect(await lastRun(scenario)).toEqual({ status: 'failed', exit_code: 65 });
    expect(await contentOf(scenario, inSettled)).toEqual(before);
  },
);

test('204 once for a settled window is a hiccup: the second answer is loaded', async () => {
  const before = await contentOf(scenario, `(select * exclude (_load_id) ${inSettled.slice(1)}`);
  script(1, nothing);
  const summary = await backfill();
  expect(summary).toMatchObject({ status: 'succeeded', failures: [] });
  expect((await contentOf(scenario, inSettled)).length).toBe(before.length);
  expect(await column(scenario, `select distinct _load_id ${inSettled.slice(1, -1)}`)).toEqual(['4']);
});

test('2 settled days of 4 that lose 3 of 4 rows are asked for by themselves and stay; the 2 others are loaded', async () => {
  const bad = ['2026-05-11', '2026-05-13'];
  const ofBad = `(from daily where day in (${bad.map((each) => `date '${each}'`).join(', ')}))`;
  const before = await contentOf(scenario, ofBad);
  script(Infinity, { kind: 'report', mutate: kept(1, (of) => bad.includes(of)) });
  const summary = await backfill();

  expect(
    askedReports(scenario)
      .map(({ period }) => period)
      .sort(),
  ).toEqual(['2026-05-10:2026-05-13', '2026-05-11:2026-05-11', '2026-05-13:2026-05-13']);
  expect(summary.status).toBe('partial');
  expect(summary.failures.map(({ code, window }) => `${code} ${window ?? ''}`).sort()).toEqual([
    'DATA_SHRUNK 2026-05-11:2026-05-11',
    'DATA_SHRUNK 2026-05-13:2026-05-13',
  ]);
  expect(await contentOf(scenario, ofBad)).toEqual(before);
  expect(await column(scenario, `select distinct day from daily where _load_id > 3 order by day`)).toEqual([
    '2026-05-10',
    '2026-05-12',
  ]);
});

test.each<[string, readonly string[], string]>([
  ['a report without a date dimension over 50 days', ['app_token', 'os_name'], '2026-05-01:2026-06-19'],
  ['a month of 19 days so far', ['month', 'app_token'], '2026-06-01:2026-06-19'],
])('204 twice for %s, which is not over, leaves its rows, with exit code 65', async (_, dimensions, asked) => {
  const long = slice({
    name: 'long',
    dimensions: [...dimensions],
    metrics: ['installs'],
    datePeriod: daily.datePeriod,
  });
  const other = await openScenario([long], { simulator: { world: smallWorld } });
  try {
    await runNight(other, new Date('2026-06-19T02:30:00Z'));
    const before = await contentOf(other, 'long');
    expect(before.length).toBeGreaterThan(0);
    other.simulator.asked.reset();
    other.simulator.script({ match: reports(), times: Infinity, fault: nothing });
    const summary = await runNight(other, new Date('2026-06-20T02:30:00Z'));

    expect(askedReports(other).map(({ period }) => period)).toEqual([asked, asked]);
    expect([...new Set(summary.failures.map(({ code }) => code))]).toEqual(['DATA_SHRUNK']);
    expect(await contentOf(other, 'long')).toEqual(before);
  } finally {
    await other.close();
  }
});

test('--accept-loss takes 0 rows for a settled window after 1 request, and leaves the other days alone', async () => {
  const others = "(from daily where day < '2026-05-10' or day >= '2026-05-14')";
  const before = await contentOf(scenario, others);
  script(Infinity, nothing);
  const summary = await backfill(true);

  expect(summary).toMatchObject({ status: 'succeeded', failures: [] });
  expect(scenario.simulator.asked.counts.report).toBe(1);
  expect(await contentOf(scenario, inSettled)).toEqual([]);
  expect(await contentOf(scenario, others)).toEqual(before);
  expect(await column(scenario, "select rows from ripen.periods where start_day = '2026-05-10'")).toEqual(['0']);
});
