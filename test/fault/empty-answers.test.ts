/** Answers without rows, or with few: asked for once more; new days are empty until a later run agrees, settled ones keep what they had. */

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import type { Slice } from '../../src/model/slice.ts';
import { type Change, gridOf, openAnswering } from '../support/answering.ts';
import type { Fault } from '../support/simulator/faults.ts';
import { rowsOf, type ReportMutation } from '../support/simulator/mutations.ts';
import { type Cases, loadCases, tableOf } from '../support/cases.ts';
import { column, lastRun, query, storedAndTrue, contentOf } from '../support/contents.ts';
import { textWith } from '../support/matching.ts';
import { reports, runNight, askedReports, smallWorld } from '../support/night.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { noContent } from '../support/odd-answers.ts';
import { json } from '../support/scripted-server.ts';
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
  body: {
    text: '{"rows":[],"totals":{},"error":"query cancelled"}',
    contentType: 'application/json',
  },
};

/** Only rows from a day on, without totals. */
const newestOnly =
  (from: string): ReportMutation =>
  (document) => ({
    ...document,
    rows: rowsOf(document).filter((row) => String(row['day']) >= from),
    totals: {},
  });

const script = (times: number, fault: Fault): (() => void) =>
  scenario.simulator.script({ match: reports(), times, fault });
const states = (): Promise<string[]> =>
  column(
    scenario,
    "select state || ' ' || count(*) from ripen.periods group by state order by state",
  );

async function equalsTruth(declared: Slice, days: string, now: Date): Promise<void> {
  const { stored, truth } = await storedAndTrue(scenario, declared, days, now);
  expect(truth.length).toBeGreaterThan(30);
  expect(stored).toEqual(truth);
}

describe('in a first load of 31 days', () => {
  const EMPTY = 3;
  const CANCELLED = 4;
  const newest: Fault = { kind: 'report', mutate: newestOnly('2026-05-27') };
  let loaded: Cases;
  beforeAll(async () => {
    const once = [nothing, newest, cancelled].map((fault) => ({ fault, times: 1 }));
    loaded = await loadCases(month, [...once, { fault: newest }, { fault: cancelled }], FIRST);
    scenario = loaded.scenario;
  });
  afterAll(() => loaded.close());
  const sliceOf = (index: number) => {
    const found = loaded.summary.slices.find(({ name }) => name === tableOf(index));
    if (found === undefined) throw new Error('no such case');
    return found;
  };
  const periodsOf = (index: number): Promise<string[]> =>
    column(
      scenario,
      `select state || ' ' || count(*) from ripen.periods where slice = '${tableOf(index)}' group by state order by state`,
    );

  test.each([
    ['204', 0],
    ['the newest 5 days without totals', 1],
    ['{"rows":[],"totals":{},"error":"query cancelled"}', 2],
  ])('%s once is a hiccup: requested once more, nothing is lost', async (_, at) => {
    expect(sliceOf(at)).toMatchObject({ empty_periods: [], requests: 3, windows: { failed: 0 } });
    await equalsTruth(loaded.slices[at] ?? month, MAY, FIRST);
  });

  test('26 days that come empty twice are loaded as empty, named, and final for nobody', async () => {
    expect(sliceOf(EMPTY).empty_periods).toEqual(['2026-05-01:2026-05-26']);
    const told = scenario.events.flatMap((event) =>
      event.type === 'warning' && event.code === 'EMPTY_PERIODS' ? [event] : [],
    );
    expect(told.map(({ slice: name }) => name)).toEqual([tableOf(EMPTY), tableOf(EMPTY)]);
    expect(told.map(({ message }) => message)).toContainEqual(textWith('2026-05-25:2026-05-26'));
    expect(
      await column(scenario, "select count(*) from ripen.warnings where code = 'EMPTY_PERIODS'"),
    ).toEqual(['2']);
    expect(await periodsOf(EMPTY)).toEqual(['empty 26', 'maturing 5']);
    const final = `select 1 from ripen.finality where slice = '${tableOf(EMPTY)}' and is_final and period < '2026-05-27'`;
    expect(await query(scenario, final)).toEqual([]);
  });

  test('an error beside no rows all night is no answer: the days fail in its words with exit code 65, and none is called empty', async () => {
    const { failures } = loaded.summary;
    expect(failures.map(({ slice: name }) => name)).toEqual(failures.map(() => tableOf(CANCELLED)));
    expect(failures.map(({ message }) => message)).toEqual(
      Array.from({ length: 2 }, () => textWith('query cancelled')),
    );
    expect(sliceOf(CANCELLED).empty_periods).toEqual([]);
    expect(await lastRun(scenario)).toMatchObject({ exit_code: 65 });
    expect(await column(scenario, `select count(*) from ${tableOf(CANCELLED)}`)).toEqual(['0']);
    expect(await periodsOf(CANCELLED)).toEqual([]);
  });

  test('both are whole after the next night', async () => {
    const next = await loaded.again(SECOND);
    expect(next.failures).toEqual([]);
    const mended = next.slices.find(({ name }) => name === tableOf(EMPTY));
    expect(mended).toMatchObject({ periods: { empty: 26 }, empty_periods: [] });
    expect((await periodsOf(EMPTY)).filter((each) => each.startsWith('empty'))).toEqual([]);
    const days = '2026-05-01:2026-05-26';
    const { stored, truth } = await storedAndTrue(
      scenario,
      loaded.slices[EMPTY] ?? month,
      days,
      SECOND,
    );
    expect(stored.filter((row) => row < '["2026-05-27')).toEqual(truth);
    await equalsTruth(loaded.slices[CANCELLED] ?? month, MAY, SECOND);
  });
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
  scenario.simulator.requested.reset();
  await runNight(scenario, new Date('2026-07-21T02:30:00Z'));
  expect(scenario.simulator.requested.counts.report).toBe(0);
});

test('a 204 that answers for 2 holes confirms nothing of the day between them, whose rows stay', async () => {
  const days = ['2026-05-28', '2026-05-29', '2026-05-30', '2026-05-31'];
  const recent = slice({
    ...month,
    datePeriod: { first: { day: day('2026-05-28') }, last: { day: day('2026-05-31') } },
  });
  const answering = await openAnswering(
    [recent],
    gridOf(days, { os_name: ['ios', 'android'] }, recent.metrics),
  );
  const isHole = (row: object): boolean =>
    'day' in row && [days[1], days[3]].includes(String(row.day));
  const holed: Change = (report) =>
    json({ rows: report.rows.filter((row) => !isHole(row)), totals: {} });
  answering.rewrite({}, holed, 1);
  answering.rewrite({}, noContent, 1);
  expect((await answering.night(1)).slices[0]?.empty_periods).toEqual([
    '2026-05-29:2026-05-29',
    '2026-05-31:2026-05-31',
  ]);
  const stored = 'select distinct day from daily order by day';
  expect(await column(answering.scenario, stored)).toEqual([days[0], days[2]]);
  expect((await answering.night(2)).failures).toEqual([]);
  expect(await answering.cells(recent)).toEqual(answering.truth(recent));
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
    await column(
      scenario,
      "select day || ' ' || installs from daily where day < '2026-05-25' order by all",
    ),
  ).toEqual(before);
  const emptied = 'period in (select start_day from ripen.periods where rows = 0)';
  expect(
    await query(scenario, `select 1 from ripen.finality where is_final and ${emptied}`),
  ).toEqual([]);

  expect((await runNight(scenario, THIRD)).failures).toEqual([]);
  expect(await column(scenario, 'select count(*) from ripen.periods where rows = 0')).toEqual([
    '0',
  ]);
  await equalsTruth(nightly, '2026-03-31:2026-06-02', THIRD);
});

const LOADED = new Date('2026-05-20T02:30:00Z');
/** 8 days after 23 May ended. */
const LATER = new Date('2026-06-01T02:30:00Z');

const daily = slice({
  name: 'daily',
  dimensions: ['day', 'app_token', 'os_name'],
  metrics: ['installs', 'cost'],
  datePeriod: { first: { day: day('2026-05-01') }, last: { daysAgo: 1 } },
});
const settled = { start: day('2026-05-10'), end: day('2026-05-14') };

describe('of settled days', () => {
  /** A loaded slice for each test, told apart by a filter that filters nothing. */
  const slices = Array.from({ length: 5 }, (_, at) => ({
    ...daily,
    name: `daily_${at}`,
    parameters: { ...daily.parameters, os_name__not_in: `none_${at}` },
  }));
  let loaded: Scenario;
  let ordinal = -1;
  beforeAll(async () => {
    loaded = await openScenario(slices, { simulator: { world: smallWorld } });
    await runNight(loaded, LOADED);
  });
  afterAll(() => loaded.close());
  beforeEach(() => {
    scenario = loaded;
    ordinal += 1;
    scenario.simulator.requested.reset();
  });
  const nameOf = (): string => `daily_${ordinal}`;
  const rowsOn = (days: string): string => `(from ${nameOf()} where ${days})`;
  const inSettled = "day >= '2026-05-10' and day < '2026-05-14'";

  async function backfill(fault: Fault, times = Infinity, acceptLoss = false) {
    const restore = script(times, fault);
    return runNight(scenario, LATER, {
      request: { command: 'backfill', slices: [nameOf()], forced: settled, acceptLoss },
    }).finally(restore);
  }

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
      const before = await contentOf(scenario, rowsOn(inSettled));
      const summary = await backfill(fault);

      expect(scenario.simulator.requested.counts.report).toBe(2);
      expect(summary.failures).toMatchObject([
        {
          code: 'DATA_SHRUNK',
          window: '2026-05-10:2026-05-13',
          message: textWith(`${before.length} were loaded before`),
          hint: textWith(
            `ripen backfill --slice ${nameOf()} --from 2026-05-10 --to 2026-05-13 --accept-loss`,
          ),
        },
      ]);
      expect(await lastRun(scenario)).toEqual({ status: 'failed', exit_code: 65 });
      expect(await contentOf(scenario, rowsOn(inSettled))).toEqual(before);
    },
  );

  test('2 settled days of 4 that lose 3 of 4 rows are asked for by themselves and stay; the 2 others are loaded', async () => {
    const bad = ['2026-05-11', '2026-05-13'];
    const ofBad = rowsOn(`day in (${bad.map((each) => `date '${each}'`).join(', ')})`);
    const before = await contentOf(scenario, ofBad);
    const [newest] = await column(scenario, 'select max(load_id) from ripen.loads');
    const summary = await backfill({
      kind: 'report',
      mutate: kept(1, (of) => bad.includes(of)),
    });

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
    expect(
      await column(
        scenario,
        `select distinct day from ${nameOf()} where _load_id > ${newest} order by day`,
      ),
    ).toEqual(['2026-05-10', '2026-05-12']);
    // One answer brought both.
    expect(
      await column(scenario, `select sum(requests) from ripen.loads where load_id > ${newest}`),
    ).toEqual(['1']);
  });

  test('--accept-loss takes 0 rows for a settled window after 1 request, and leaves the other days alone', async () => {
    const others = rowsOn(`not (${inSettled})`);
    const before = await contentOf(scenario, others);
    const summary = await backfill(nothing, Infinity, true);

    expect(summary).toMatchObject({ status: 'succeeded', failures: [] });
    expect(scenario.simulator.requested.counts.report).toBe(1);
    expect(await contentOf(scenario, rowsOn(inSettled))).toEqual([]);
    expect(await contentOf(scenario, others)).toEqual(before);
    expect(
      await column(
        scenario,
        `select rows from ripen.periods where slice = '${nameOf()}' and start_day = '2026-05-10'`,
      ),
    ).toEqual(['0']);
  });
});

test('204 twice for a report without a date dimension over 50 days, or a month of 19 days so far, leaves its rows', async () => {
  const long = slice({
    name: 'long',
    dimensions: ['app_token', 'os_name'],
    metrics: ['installs'],
    datePeriod: daily.datePeriod,
  });
  const dimensions = ['month', 'app_token'];
  const monthly = slice({ ...long, name: 'monthly', dimensions, grain: 'month' });
  scenario = await openScenario([long, monthly], { simulator: { world: smallWorld } });
  await runNight(scenario, new Date('2026-06-19T02:30:00Z'));
  const stored = () => Promise.all([contentOf(scenario, 'long'), contentOf(scenario, 'monthly')]);
  const before = await stored();
  for (const rows of before) expect(rows.length).toBeGreaterThan(0);
  scenario.simulator.requested.reset();
  script(Infinity, nothing);
  const summary = await runNight(scenario, new Date('2026-06-20T02:30:00Z'));

  const [whole, month] = ['2026-05-01:2026-06-19', '2026-06-01:2026-06-19'];
  const periods = askedReports(scenario).map(({ period }) => period);
  expect(periods.sort()).toEqual([whole, whole, month, month]);
  expect([...new Set(summary.failures.map(({ code }) => code))]).toEqual(['DATA_SHRUNK']);
  expect(new Set(summary.failures.map(({ slice: name }) => name))).toEqual(
    new Set(['long', 'monthly']),
  );
  expect(await lastRun(scenario)).toMatchObject({ exit_code: 65 });
  expect(await stored()).toEqual(before);
});

test('1 of 4 rows of a settled day, which comes 4 times and whose totals are its own, does not replace them: exit code 65', async () => {
  const of = { ...month, dimensions: ['day', 'network'], refresh: 'nightly' } as const;
  const rows = gridOf(['2026-05-31'], { network: ['w', 'x', 'y', 'z'] }, of.metrics);
  const answering = await openAnswering([of], rows);
  expect((await answering.night(1)).failures).toEqual([]);
  answering.rewrite({ day: '2026-05-31' }, (report) => {
    const [first] = report.rows;
    return json({ rows: [first, first, first, first], totals: first });
  });
  const { failures } = await answering.night(20);
  expect(failures.map(({ code }) => code)).toEqual(['DATA_SHRUNK']);
  expect(await lastRun(answering.scenario)).toMatchObject({ exit_code: 65 });
  expect(await answering.cells(of)).toEqual(answering.truth(of));
});

test('no rows after an answer that was none is no second word on a day: it is requested once more, and its rows stay', async () => {
  const recent = slice({
    ...month,
    datePeriod: { first: { day: day('2026-05-30') }, last: { day: day('2026-05-30') } },
  });
  scenario = await openScenario([{ ...recent, refresh: 'nightly' }], { simulator: { world } });
  await runNight(scenario, FIRST);
  scenario.simulator.requested.reset();
  const nullRows: ReportMutation = (document) => ({ ...document, rows: null });
  const lists = { 1: { kind: 'report', mutate: nullRows }, 2: nothing } as const;
  for (const [at, fault] of Object.entries<Fault>(lists)) {
    const match = (request: Parameters<ReturnType<typeof reports>>[0]): boolean =>
      reports()(request) && scenario.simulator.requested.counts.report === Number(at);
    scenario.simulator.script({ match, times: 1, fault });
  }
  expect(await runNight(scenario, SECOND)).toMatchObject({ status: 'succeeded', failures: [] });
  expect(askedReports(scenario)).toHaveLength(3);
  const { stored, truth } = await storedAndTrue(scenario, recent, '2026-05-30:2026-05-30', SECOND);
  expect(stored).toEqual(truth);
});
