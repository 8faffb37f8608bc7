/** Faults, row 19: reports that name a next page which cannot be followed, while their totals are those of one page. */

import { afterEach, expect, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import type { Fault } from '../support/simulator/faults.ts';
import { type ReportMutation, rowsOf, withEachRow } from '../support/simulator/mutations.ts';
import { noQuirks, type PagesQuirk } from '../support/simulator/quirks.ts';
import { column, contentOf, lastRun, storedAndTrue } from '../support/contents.ts';
import { textWith } from '../support/matching.ts';
import { askedReports, reports, runNight, smallWorld } from '../support/night.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

const NOW = new Date('2026-06-01T02:30:00Z');
const NEXT_NIGHT = new Date('2026-06-02T02:30:00Z');
const DAYS = '2026-05-30:2026-05-31';

const given = {
  name: 'daily',
  dimensions: ['day', 'app_token', 'os_name', 'country_code'],
  metrics: ['installs', 'cost'],
  datePeriod: { first: { day: day('2026-05-30') }, last: { day: day('2026-05-31') } },
  refresh: 'nightly',
} as const;

const elsewhere = { to: 'other_origin', origin: 'https://elsewhere.example.com' } as const;
const pages: PagesQuirk = { size: 6, style: 'v1', last: 'null', totals: 'page', misleads: elsewhere };

let scenario: Scenario;
afterEach(() => scenario.close());

/** The first 3 rows with the sums of these, and whatever it says of further pages. */
const firstOf =
  (pagination: unknown): ReportMutation =>
  (document) => {
    const rows = rowsOf(document).slice(0, 3);
    const sum = (metric: string): number => rows.reduce((all, row) => all + Number(row[metric]), 0);
    const totals = { installs: sum('installs'), cost: Math.round(sum('cost') * 1e6) / 1e6 };
    return { ...document, rows, totals, pagination };
  };

test.each<[string, unknown]>([
  ['is at another origin', { next: 'https://elsewhere.example.com/2' }],
  ['is named by a number', { page: 1, total_pages: 4 }],
  ['is named in a form that nobody knows', { links: { next: '/2' } }],
])(
  'of 2 days whose next page %s, page totals prove nothing: the old rows stay, exit code 65',
  async (_, pagination) => {
    // A filter of a metric looks at rows as they are grouped: the whole cannot be asked for by the year.
    const filtered = slice({ ...given, parameters: { installs__gte: '0' } });
    scenario = await openScenario([filtered], { simulator: { world: smallWorld } });
    expect((await runNight(scenario, NOW)).failures).toEqual([]);
    const before = await contentOf(scenario, 'daily');
    expect(before.length).toBeGreaterThan(10);
    const fault: Fault = { kind: 'report', mutate: firstOf(pagination) };
    scenario.simulator.script({ match: reports(), times: Infinity, fault });
    const summary = await runNight(scenario, NEXT_NIGHT);
    expect(new Set(summary.failures.map(({ code }) => code))).toEqual(new Set(['DATA_INCOMPLETE']));
    for (const { message, hint } of summary.failures) {
      expect(message).toEqual(textWith('the answer was not complete'));
      expect(hint).toEqual(textWith('Take the filter of a metric out of the slice'));
    }
    expect(await contentOf(scenario, 'daily')).toEqual(before);
    expect(await lastRun(scenario)).toEqual({ status: 'failed', exit_code: 65 });
  },
);

test.each([
  ['require', [65, '0', []]],
  ['warn', [0, '3', ['unproven']]],
] as const)(
  'pages that repeat the same 3 rows under ever new links end after few requests; under completeness: %s',
  async (completeness, [exitCode, rows, verdicts]) => {
    const days = { first: { day: day('2026-05-31') }, last: { day: day('2026-05-31') } };
    // A filter of a metric looks at rows as they are grouped: the whole cannot be asked for by the year.
    const filtered = slice({ ...given, datePeriod: days, completeness, parameters: { installs__gte: '0' } });
    scenario = await openScenario([filtered], { simulator: { world: smallWorld } });
    let page = 0;
    const query = new URLSearchParams({ dimensions: 'day', metrics: 'installs', date_period: '2026-05-31:2026-05-31' });
    let first: ReturnType<ReportMutation> | null = null;
    const repeated: ReportMutation = (document) => {
      first ??= firstOf(null)(document);
      page += 1;
      return { ...first, pagination: { next: `/reports-service/report?page=${page}&${query.toString()}` } };
    };
    scenario.simulator.script({ match: reports(), times: Infinity, fault: { kind: 'report', mutate: repeated } });
    await runNight(scenario, NOW);
    expect(await lastRun(scenario)).toMatchObject({ exit_code: exitCode });
    expect(page).toBeLessThan(100);
    expect(await column(scenario, 'select count(*) from daily')).toEqual([rows]);
    expect(await column(scenario, 'select distinct verdict from ripen.loads')).toEqual(verdicts);
  },
);

/** Every row, and a pagination of no known form that counts them, in pages with room for so many more. */
const counted =
  (room: number): ReportMutation =>
  (document) => {
    const { length } = rowsOf(document);
    return { ...document, pagination: { offset: 0, total: length, limit: length + room } };
  };

test.each([
  ['is loaded where a page has room for more', 1, 0],
  ['is refused where the page is full, as it may be the page that is counted', 0, 65],
] as const)(
  'an answer whose pagination counts as many rows as came, of a slice with a filter of a metric, %s',
  async (_, room, exitCode) => {
    const filtered = slice({ ...given, parameters: { installs__gte: '0' } });
    scenario = await openScenario([filtered], { simulator: { world: smallWorld } });
    scenario.simulator.script({ match: reports(), times: Infinity, fault: { kind: 'report', mutate: counted(room) } });
    const { failures } = await runNight(scenario, NOW);
    expect(await lastRun(scenario)).toMatchObject({ exit_code: exitCode });
    if (exitCode !== 0) return;
    expect(failures).toEqual([]);
    const { stored, truth } = await storedAndTrue(scenario, filtered, DAYS, NOW);
    expect(stored).toEqual(truth);
    expect(await column(scenario, 'select distinct verdict from ripen.loads')).toEqual(['proven']);
    expect(await column(scenario, 'select count(*) from ripen.warnings')).toEqual(['0']);
  },
);

test.each([204, 400, 404, 410])(
  'a second page that is answered %i ends a window, unless smaller answers come in one page',
  async (status) => {
    scenario = await openScenario([slice(given)], {
      simulator: { world: { ...smallWorld, quirks: { ...noQuirks, pages: { ...pages, misleads: null } } } },
    });
    const fault: Fault = { kind: 'status', status, body: 'detail', message: 'unknown parameter' };
    scenario.simulator.script({ match: ({ query }) => query.has('after'), times: Infinity, fault });
    expect((await runNight(scenario, NOW)).failures).toEqual([]);
    const { stored, truth } = await storedAndTrue(scenario, slice(given), DAYS, NOW);
    expect(stored).toEqual(truth);
    expect(truth.length).toBeGreaterThan(2 * pages.size);
  },
);

test.each<[string, PagesQuirk['totals']]>([
  ['of each page', 'page'],
  ['of all', 'whole'],
])(
  'pages of 6 rows, the next one always elsewhere, with totals %s, are divided until the whole shows that nothing is missing',
  async (_, totals) => {
    scenario = await openScenario([slice(given)], {
      simulator: { world: { ...smallWorld, quirks: { ...noQuirks, pages: { ...pages, totals } } } },
    });
    expect((await runNight(scenario, NOW)).failures).toEqual([]);
    const { stored, truth } = await storedAndTrue(scenario, slice(given), DAYS, NOW);
    expect(stored).toEqual(truth);
    expect(await column(scenario, 'select distinct verdict from ripen.loads')).toEqual(['proven']);
    expect(await column(scenario, 'select distinct code from ripen.warnings')).toEqual(['PAGES_NOT_FOLLOWED']);
  },
);

test('2 days with pages that cannot be followed fail as not available, exit code 75, where the totals by the year always are not', async () => {
  scenario = await openScenario([slice(given)], {
    simulator: { world: { ...smallWorld, quirks: { ...noQuirks, pages: { ...pages, size: 100_000 } } } },
  });
  const match = reports({ dimensions: 'year' });
  const stop = scenario.simulator.script({ match, times: Infinity, fault: { kind: 'status', status: 503 } });
  const { failures } = await runNight(scenario, NOW);
  expect(failures.map(({ code }) => code)).toEqual(['SOURCE_UNAVAILABLE']);
  expect(await lastRun(scenario)).toEqual({ status: 'failed', exit_code: 75 });
  stop();
  expect((await runNight(scenario, NEXT_NIGHT)).failures).toEqual([]);
});

test('a next page that is named for nothing costs one request a window, for the totals by the year', async () => {
  scenario = await openScenario([slice(given)], {
    simulator: { world: { ...smallWorld, quirks: { ...noQuirks, pages: { ...pages, size: 100_000 } } } },
  });
  expect((await runNight(scenario, NOW)).failures).toEqual([]);
  const { stored, truth } = await storedAndTrue(scenario, slice(given), DAYS, NOW);
  expect(stored).toEqual(truth);
  expect(askedReports(scenario).map(({ query }) => query.get('dimensions'))).toEqual([given.dimensions.join(), 'year']);
});

const hourly = {
  ...given,
  name: 'hourly',
  dimensions: ['hour', 'app_token', 'os_name'],
  metrics: ['installs'],
  datePeriod: { first: { day: day('2026-05-31') }, last: { day: day('2026-05-31') } },
} as const;

test.each<[string, object]>([
  ['an hourly one', hourly],
  ['one of days', given],
])(
  'of a period that is too heavy as a whole, %s, every answer names a next page elsewhere: its parts are held against the totals by the year',
  async (_, settings) => {
    const divided = slice({ ...given, ...settings });
    const quirks = { ...noQuirks, pages: { ...pages, size: 100_000 }, maxRows: 30 };
    scenario = await openScenario([divided], { simulator: { world: { ...smallWorld, rowsPerDay: 96, quirks } } });
    expect((await runNight(scenario, NOW)).failures).toEqual([]);
    const days = settings === hourly ? '2026-05-31:2026-05-31' : DAYS;
    const { stored, truth } = await storedAndTrue(scenario, divided, days, NOW);
    expect(stored).toEqual(truth);
    expect(await column(scenario, 'select max(requests) > 2 from ripen.loads')).toEqual(['true']);
    expect(await column(scenario, 'select distinct verdict from ripen.loads')).toEqual(['proven']);
    expect(await column(scenario, 'select distinct code from ripen.warnings')).toEqual(['PAGES_NOT_FOLLOWED']);
  },
);

test.each<[string, object]>([
  ['in one', {}],
  ['divided', { maxRows: 12 }],
])(
  'a service without totals that names a next page for nothing, asked %s: its rows are held against the rows by the year',
  async (_, quirks) => {
    const silent = { pages: { ...pages, size: 100_000 }, totals: { isMissing: () => true, asText: false } };
    scenario = await openScenario([slice(given)], {
      simulator: { world: { ...smallWorld, quirks: { ...noQuirks, ...silent, ...quirks } } },
    });
    expect((await runNight(scenario, NOW)).failures).toEqual([]);
    const { stored, truth } = await storedAndTrue(scenario, slice(given), DAYS, NOW);
    expect(stored).toEqual(truth);
    expect(await column(scenario, 'select distinct verdict from ripen.loads')).toEqual(['unverifiable']);
  },
);

test('a service without totals and pages of 6 rows that cannot be followed is divided until the rows by the year are reached', async () => {
  const silent = { pages, totals: { isMissing: () => true, asText: false } };
  scenario = await openScenario([slice(given)], {
    simulator: { world: { ...smallWorld, quirks: { ...noQuirks, ...silent } } },
  });
  expect((await runNight(scenario, NOW)).failures).toEqual([]);
  const { stored, truth } = await storedAndTrue(scenario, slice(given), DAYS, NOW);
  expect(stored).toEqual(truth);
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
