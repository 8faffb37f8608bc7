/** Faults, row 19: reports that name a next page which cannot be followed, while their totals are those of one page. */

import { expect, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import { type ReportMutation, rowsOf, withEachRow } from '../support/simulator/mutations.ts';
import { column, contentOf, lastRun } from '../support/contents.ts';
import { textWith } from '../support/matching.ts';
import { askedReports, reports, runNight, smallWorld } from '../support/night.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

const NOW = new Date('2026-06-01T02:30:00Z');
const NEXT_NIGHT = new Date('2026-06-02T02:30:00Z');

const given = {
  name: 'daily',
  dimensions: ['day', 'app_token', 'os_name', 'country_code'],
  metrics: ['installs', 'cost'],
  datePeriod: { first: { day: day('2026-05-30') }, last: { day: day('2026-05-31') } },
  refresh: 'nightly',
} as const;

let scenario: Scenario;

/** The first 3 rows with the sums of these, and whatever it says of further pages. */
const firstOf =
  (pagination: unknown): ReportMutation =>
  (document) => {
    const rows = rowsOf(document).slice(0, 3);
    const sum = (metric: string): number => rows.reduce((all, row) => all + Number(row[metric]), 0);
    const totals = { installs: sum('installs'), cost: Math.round(sum('cost') * 1e6) / 1e6 };
    return { ...document, rows, totals, pagination };
  };

/** The same 3 rows at ever new addresses. */
function repeating(): ReportMutation {
  let first: ReturnType<ReportMutation> | null = null;
  let page = 1;
  const query = new URLSearchParams({ dimensions: 'day', metrics: 'installs', date_period: '2026-05-30:2026-05-30' });
  return (document) => {
    first ??= firstOf(null)(document);
    page += 1;
    return { ...first, pagination: { next: `/reports-service/report?page=${page}&${query.toString()}` } };
  };
}

const cases: [string, () => ReportMutation, string, number][] = [
  [
    'is at another origin',
    () => firstOf({ next: 'https://elsewhere.example.com/2' }),
    'https://elsewhere.example.com',
    1,
  ],
  ['is named by a number', () => firstOf({ page: 1, total_pages: 4 }), '"total_pages":4', 1],
  ['is named in a form that nobody knows', () => firstOf({ links: { next: '/2' } }), '{"links":{"next":"/2"}}', 1],
  ['has the rows of the page before', repeating, '/reports-service/report?page=2', 2],
];

test.each(cases)(
  'of 2 days whose next page %s, page totals prove nothing: the old rows stay, exit code 65, after one answer',
  async (_, mutate, address, requests) => {
    scenario = await openScenario([slice(given)], { simulator: { world: smallWorld } });
    expect((await runNight(scenario, NOW)).failures).toEqual([]);
    const before = await contentOf(scenario, 'daily');
    expect(before.length).toBeGreaterThan(10);
    scenario.simulator.script({ match: reports(), times: Infinity, fault: { kind: 'report', mutate: mutate() } });
    scenario.simulator.asked.reset();
    const { failures } = await runNight(scenario, NEXT_NIGHT);
    expect(failures).toMatchObject([
      { code: 'SOURCE_ENDLESS_PAGES', message: textWith(address), hint: textWith('`completeness: warn`') },
    ]);
    expect(askedReports(scenario)).toHaveLength(requests);
    expect(await contentOf(scenario, 'daily')).toEqual(before);
    expect(await lastRun(scenario)).toEqual({ status: 'failed', exit_code: 65 });
  },
);

test.each(cases)(
  'where the next page %s, the rows that came are loaded as unproven under `completeness: warn`',
  async (_, mutate) => {
    const datePeriod = { first: { day: day('2026-05-30') }, last: { day: day('2026-05-30') } };
    const lenient = slice({ ...given, datePeriod, completeness: 'warn' });
    scenario = await openScenario([lenient], { simulator: { world: smallWorld } });
    scenario.simulator.script({ match: reports(), times: Infinity, fault: { kind: 'report', mutate: mutate() } });
    expect((await runNight(scenario, NOW)).failures).toEqual([]);
    expect(await lastRun(scenario)).toMatchObject({ exit_code: 0 });
    expect(await column(scenario, 'select count(*) from daily')).toEqual(['3']);
    expect(await column(scenario, 'select distinct verdict from ripen.loads')).toEqual(['unproven']);
  },
);

test.each([
  [204, 65],
  [404, 78],
] as const)('a second page that is answered %i fails its window, exit code %i', async (status, exitCode) => {
  scenario = await openScenario([slice(given)], { simulator: { world: smallWorld } });
  const query = new URLSearchParams({ after: 'x', dimensions: 'day', metrics: 'installs' });
  const mutate = firstOf({ next: `/reports-service/report?${query.toString()}` });
  const isSecond = ({ query: sent }: { readonly query: URLSearchParams }): boolean => sent.has('after');
  const fault = { kind: 'status', status, body: 'detail', message: 'no such page' } as const;
  scenario.simulator.script({ match: isSecond, times: Infinity, fault });
  scenario.simulator.script({
    match: (asked) => reports()(asked) && !isSecond(asked),
    times: Infinity,
    fault: { kind: 'report', mutate },
  });
  expect((await runNight(scenario, NOW)).failures).toHaveLength(1);
  expect(await lastRun(scenario)).toEqual({ status: 'failed', exit_code: exitCode });
  expect(await column(scenario, 'select count(*) from daily')).toEqual(['0']);
});

test('a pagination inside `debug`, `meta` or a row is not that of the report', async () => {
  scenario = await openScenario([slice(given)], { simulator: { world: smallWorld } });
  const pagination = { page: 1, total_pages: 3 };
  const mutate: ReportMutation = (document) => ({
    ...withEachRow(document, (row) => ({ ...row, attr_dependency: { pagination } })),
    debug: { pagination },
    meta: [{ pagination: { next: '/2' } }],
  });
  scenario.simulator.script({ match: reports(), times: Infinity, fault: { kind: 'report', mutate } });
  expect((await runNight(scenario, NOW)).failures).toEqual([]);
  expect(askedReports(scenario)).toHaveLength(1);
  expect(await column(scenario, 'select distinct verdict from ripen.loads')).toEqual(['proven']);
});
