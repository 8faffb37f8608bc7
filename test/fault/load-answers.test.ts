/** Answers that are not what was asked for, whole and once: their window fails or is mended, the others load. */

import { readdir } from 'node:fs/promises';

import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';

import type { FailureCode } from '../../src/errors.ts';
import { day } from '../../src/model/calendar.ts';
import type { Slice } from '../../src/model/slice.ts';
import type { Fault } from '../support/simulator/faults.ts';
import { addedWarning, type ReportMutation } from '../support/simulator/mutations.ts';
import type { SyncSummary } from '../../src/run/summary.ts';
import { column, contentOf, lastRun, storedAndTrue } from '../support/contents.ts';
import { textWith } from '../support/matching.ts';
import { askedReports, daysOf, reports, runNight, smallWorld } from '../support/night.ts';
import {
  duplicatedRow,
  extraKey,
  limitedRows,
  missingKey,
  nullRows,
  paginated,
  replacedValue,
  wrongTotal,
} from '../support/report-mutations.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

const NOW = new Date('2026-06-01T02:30:00Z');
const DAYS = '2026-05-28:2026-05-31';
const world = smallWorld;

const given = {
  name: 'daily',
  dimensions: ['day', 'app_token', 'os_name'],
  metrics: ['installs', 'cost', 'ecpi'],
  datePeriod: { first: { day: day('2026-05-28') }, last: { day: day('2026-05-31') } },
} as const;

const report = (mutate: ReportMutation): Fault => ({ kind: 'report', mutate });
const json = (text: string): Fault => ({
  kind: 'status',
  status: 200,
  body: { text, contentType: 'application/json' },
});
const html = '<html><body>Please sign in to continue</body></html>';

/** A window of 4 days, its 2 halves and its 4 days; what cannot be divided by days may then be by values. */
const SPLIT = 7;
const MOST_WHEN_SPLIT = 100;

const mended: readonly {
  readonly name: string;
  readonly fault: Fault;
  /** Requests it befalls; all of them unless stated. */
  readonly times?: number;
  readonly warning?: string;
  readonly requests: number;
}[] = [
  {
    name: 'a reset in the middle of the body',
    fault: { kind: 'cut', afterBytes: 'half', framing: 'chunked' },
    times: 1,
    requests: 2,
  },
  {
    name: 'a body that ends before its length',
    fault: { kind: 'cut', afterBytes: 40, framing: 'length' },
    times: 2,
    requests: 3,
  },
  { name: 'a length that is 9 bytes too large', fault: { kind: 'wrong_length', by: 9 }, times: 1, requests: 2 },
  { name: 'JSON cut in half under 200', fault: { kind: 'garbled', edit: 'truncated' }, times: 1, requests: 2 },
  {
    name: 'JSON cut after a row, so that it still ends in a brace',
    fault: json('{"rows":[{"day":"2026-05-28"}'),
    times: 1,
    requests: 2,
  },
  { name: 'gzip with a wrong checksum', fault: { kind: 'corrupt_gzip', where: 'checksum' }, times: 1, requests: 2 },
  { name: 'a byte order mark', fault: { kind: 'garbled', edit: 'bom' }, times: 1, requests: 1 },
  { name: 'rows that are null, twice', fault: report(nullRows()), times: 2, requests: 3 },
  {
    name: 'a good report that says it is text/html, once',
    fault: { kind: 'content_type', contentType: 'text/html' },
    times: 1,
    requests: 2,
  },
  { name: 'a row that comes twice', fault: report(duplicatedRow(0)), warning: '1 identical rows', requests: 1 },
  { name: 'more than 5 rows cut off in silence', fault: report(limitedRows(5, null)), requests: 7 },
  {
    name: 'a warning about something else',
    fault: report(addedWarning('Currency rates of yesterday were used')),
    warning: 'Currency rates',
    requests: 1,
  },
  {
    name: 'a warning whose words hold limit, of a metric',
    fault: report(addedWarning('Metric limit_ad_tracking_installs is not available')),
    warning: 'limit_ad_tracking_installs',
    requests: 1,
  },
  {
    name: 'a warning of limited rows that the totals refute',
    fault: report(addedWarning('Result limited to 10000 rows')),
    warning: 'limited to 10000',
    requests: 1,
  },
];

/** A sound report beside which a member holds what the engine takes for JSON. */
const beside = (name: string, member: string): Fault =>
  json(
    `{"rows":[{"day":"2026-05-28","app_token":"a","os_name":"ios","installs":"1","cost":"1","ecpi":"1","attr_dependency":{}}],"${name}":${member}}`,
  );

const failing: readonly {
  readonly name: string;
  readonly fault: Fault;
  readonly code: FailureCode;
  readonly says: string;
  readonly requests: number;
}[] = [
  {
    name: 'rows that are null, always',
    fault: report(nullRows()),
    code: 'DATA_MALFORMED',
    says: 'no rows',
    requests: 3,
  },
  {
    name: 'an error object under 200',
    fault: json('{"error":"try later"}'),
    code: 'DATA_MALFORMED',
    says: 'try later',
    requests: 3,
  },
  {
    name: 'a row that states one key twice',
    fault: json(
      '{"rows":[{"day":"2026-05-28","app_token":"a","os_name":"ios","installs":"1","installs":"2","cost":"1","ecpi":"1","attr_dependency":{}}]}',
    ),
    code: 'DATA_MALFORMED',
    says: '"installs" twice',
    requests: 3,
  },
  ...[
    ['totals', '{"installs":1,"ecpi":NaN}'],
    ['totals', '{"installs":-Infinity}'],
    ['warnings', '[Infinity]'],
    ['data_warnings', 'NaN'],
    ['pagination', '{"total_pages":NaN}'],
  ].map(([member = '', text = '']) => ({
    name: `${member} ${text} beside sound rows`,
    fault: beside(member, text),
    code: 'DATA_MALFORMED' as const,
    says: `its member ${member} was no JSON: ${text}`,
    requests: 3,
  })),
  {
    name: 'a row that is null',
    fault: json('{"rows":[null]}'),
    code: 'DATA_MALFORMED',
    says: 'no { where one belongs, at byte 9',
    requests: 3,
  },
  {
    name: 'no rows beside a total of 5 installs',
    fault: json('{"rows":[],"totals":{"installs":5.0}}'),
    code: 'DATA_INCOMPLETE',
    says: "the service's total was",
    requests: SPLIT,
  },
  {
    name: 'two documents in one body',
    fault: { kind: 'garbled', edit: 'two_documents' },
    code: 'DATA_MALFORMED',
    says: 'something behind the document, at byte',
    requests: 3,
  },
  {
    name: 'HTML under 200',
    fault: { kind: 'status', status: 200, body: { text: html, contentType: 'text/html' } },
    code: 'SOURCE_GARBLED',
    says: 'Please sign in',
    requests: 2,
  },
  {
    name: 'HTML that says it is JSON',
    fault: json(html),
    code: 'SOURCE_GARBLED',
    says: 'Please sign in',
    requests: 2,
  },
  {
    name: 'a 400',
    fault: { kind: 'status', status: 400, body: 'detail', message: 'os_name__not_in is too long' },
    code: 'SOURCE_REFUSED',
    says: 'os_name__not_in is too long',
    requests: 1,
  },
  {
    name: 'a 403',
    fault: { kind: 'status', status: 403, message: 'Not permitted' },
    code: 'ACCESS_FORBIDDEN',
    says: 'Not permitted',
    requests: 1,
  },
  {
    name: 'a redirect',
    fault: { kind: 'redirect', origin: 'https://elsewhere.example.com' },
    code: 'SOURCE_REDIRECTED',
    says: 'https://elsewhere.example.com',
    requests: 1,
  },
  {
    name: 'a row that comes twice with different values',
    fault: report(duplicatedRow(0, { installs: '987654' })),
    code: 'DATA_DUPLICATE_KEY',
    says: '987654',
    requests: 1,
  },
  {
    name: 'a day after the window',
    fault: report(replacedValue(0, 'day', '2026-06-01')),
    code: 'DATA_OUTSIDE_WINDOW',
    says: '2026-06-01',
    requests: 1,
  },
  {
    name: 'a day before the window',
    fault: report(replacedValue(0, 'day', '2026-05-27')),
    code: 'DATA_OUTSIDE_WINDOW',
    says: '2026-05-27',
    requests: 1,
  },
  {
    name: 'a day in local form',
    fault: report(replacedValue(0, 'day', '05/28/2026')),
    code: 'DATA_MALFORMED',
    says: '05/28/2026',
    requests: 1,
  },
  {
    name: 'a day that does not exist',
    fault: report(replacedValue(0, 'day', '2026-02-30')),
    code: 'DATA_MALFORMED',
    says: '2026-02-30',
    requests: 1,
  },
  {
    name: 'a day that is null',
    fault: report(replacedValue(0, 'day', null)),
    code: 'DATA_MALFORMED',
    says: 'null',
    requests: 1,
  },
  {
    name: 'a dimension missing in the rows',
    fault: report(missingKey('app_token')),
    code: 'DATA_MALFORMED',
    says: 'dimension app_token',
    requests: 1,
  },
  {
    name: 'a metric missing in the rows',
    fault: report(missingKey('cost')),
    code: 'DATA_MALFORMED',
    says: 'metric cost',
    requests: 1,
  },
  {
    name: 'totals that are off by 1',
    fault: report(wrongTotal('installs', 1)),
    code: 'DATA_INCOMPLETE',
    says: 'installs',
    requests: SPLIT,
  },
  {
    name: 'totals that are off by a cent',
    fault: report(wrongTotal('cost', 0.01)),
    code: 'DATA_INCOMPLETE',
    says: 'cost',
    requests: SPLIT,
  },
  {
    name: 'a warning of limited rows without totals',
    fault: report((document) => ({ ...addedWarning('Result limited to 10000 rows')(document), totals: {} })),
    code: 'DATA_INCOMPLETE',
    says: 'limited to 10000',
    requests: SPLIT,
  },
  {
    name: 'a next page at another origin, though the totals are those of the rows',
    fault: report(paginated({ next: 'https://elsewhere.example.com/2' })),
    code: 'SOURCE_ENDLESS_PAGES',
    says: 'led to https://elsewhere.example.com',
    requests: 1,
  },
];

/** Slices for the cases, told apart by a filter that filters nothing. */
const mendedSlices = mended.map((_, index) => sliceOf(`mended_${index}`));
const failingSlices = failing.map((_, index) => sliceOf(`failing_${index}`));

function sliceOf(name: string): Slice {
  return slice({ ...given, name, parameters: { os_name__not_in: name } });
}

describe('a slice', () => {
  let scenario: Scenario;
  let summary: SyncSummary;
  const befall = (name: string, times: number, fault: Fault): void => {
    scenario.simulator.script({ match: reports({ os_name__not_in: name }), times, fault });
  };
  const requestsOf = (name: string): number =>
    askedReports(scenario).filter(({ query: parameters }) =>
      parameters.get('os_name__not_in')?.split(',').includes(name),
    ).length;
  const expectRequests = (name: string, wanted: number): void => {
    expect(requestsOf(name)).toBeGreaterThanOrEqual(wanted);
    expect(requestsOf(name)).toBeLessThanOrEqual(wanted === SPLIT ? MOST_WHEN_SPLIT : wanted);
  };

  beforeAll(async () => {
    scenario = await openScenario([...mendedSlices, ...failingSlices, slice(given)], { simulator: { world } });
    for (const [index, { fault, times = Infinity }] of mended.entries()) befall(`mended_${index}`, times, fault);
    for (const [index, { fault }] of failing.entries()) befall(`failing_${index}`, Infinity, fault);
    summary = await runNight(scenario, NOW);
  });
  afterAll(() => scenario.close());

  test.each(mended.map(({ name, warning, requests }, index) => ({ name, warning, requests, index })))(
    'equals the truth after $name',
    async ({ warning, requests, index }) => {
      const name = `mended_${index}`;
      expect(summary.failures.filter((failure) => failure.slice === name)).toEqual([]);
      expectRequests(name, requests);
      const { stored, truth } = await storedAndTrue(scenario, sliceOf(name), DAYS, NOW);
      expect(stored).toEqual(truth);
      expect(await column(scenario, `select message from ripen.warnings where slice = '${name}'`)).toEqual(
        warning === undefined ? [] : [textWith(warning)],
      );
    },
  );

  test.each(failing.map(({ name, code, says, requests }, index) => ({ name, code, says, requests, index })))(
    'fails with $code for $name, and nothing of it is loaded',
    async ({ code, says, requests, index }) => {
      const name = `failing_${index}`;
      const failures = summary.failures.filter((failure) => failure.slice === name);
      expect(new Set(failures.map((failure) => failure.code))).toEqual(new Set([code]));
      expect(failures.map(({ message }) => message).join('\n')).toContain(says);
      expectRequests(name, requests);
      expect(await column(scenario, `select count(*) from ${name}`)).toEqual(['0']);
      expect(await column(scenario, `select count(*) from ripen.periods where slice = '${name}'`)).toEqual(['0']);
    },
  );

  test('beside all of these loads its 4 days, and the gravest failure gives the exit code 78', async () => {
    const { stored, truth } = await storedAndTrue(scenario, slice(given), DAYS, NOW);
    expect(stored).toEqual(truth);
    expect(summary.status).toBe('partial');
    expect(await lastRun(scenario)).toEqual({ status: 'partial', exit_code: 78 });
  });

  test('leaves no part of an answer behind: 1 file lies in the directory, the warehouse', async () => {
    expect(await readdir(scenario.directory, { recursive: true })).toEqual(['warehouse.duckdb']);
  });
});

describe('alone', () => {
  let scenario: Scenario;

  test('one answer that nobody thought of fails alone: the windows that came with it are loaded', async () => {
    const bounds = { first: { day: day('2026-04-20') }, last: { day: day('2026-05-24') } };
    const wide = slice({ ...given, datePeriod: bounds });
    scenario = await openScenario([wide], { simulator: { world } });
    const ofNewest = reports({ date_period: (value) => value.endsWith('2026-05-24') });
    scenario.simulator.script({ match: ofNewest, times: Infinity, fault: report(extraKey('unthought', 1)) });
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
    const weekly = slice({ ...given, dimensions: ['week', 'app_token'], datePeriod: bounds });
    scenario = await openScenario([weekly], { simulator: { world } });
    const isOther = (row: unknown): boolean => JSON.stringify(row).includes('2026-05-11 - ');
    const named: ReportMutation = ({ rows, ...others }) => ({
      ...others,
      rows: Array.isArray(rows)
        ? rows.map((row: object) => (isOther(row) ? { ...row, week: '2026-05-13 - 2026-05-17' } : row))
        : rows,
    });
    scenario.simulator.script({ match: reports(), times: Infinity, fault: report(named) });
    const summary = await runNight(scenario, NOW);
    expect(summary.failures).toMatchObject([{ code: 'DATA_MALFORMED', message: textWith('2026-05-13, a Wednesday') }]);
    expect(await column(scenario, 'select distinct week::varchar from daily order by 1')).toEqual([
      '2026-05-04',
      '2026-05-18',
    ]);
    expect(await column(scenario, "select count(*) from ripen.periods where state = 'empty' or rows = 0")).toEqual([
      '0',
    ]);
  });

  test('a metric the service does not know fails its slice by name, with the words of the service', async () => {
    const wrong = slice({ ...given, name: 'wrong', metrics: ['installs', 'instals'] });
    scenario = await openScenario([wrong, slice(given)], { simulator: { world } });
    const summary = await runNight(scenario, NOW);
    expect(summary.failures).toMatchObject([
      { code: 'SOURCE_REFUSED', slice: 'wrong', window: DAYS, message: textWith('instals') },
    ]);
    expect(await lastRun(scenario)).toEqual({ status: 'partial', exit_code: 78 });
  });

  test.each([
    ['limit', { limit: '6' }],
    ['no limit', {}],
  ])('a report cut to 6 rows (%s) is split from 4 days into single ones, which fit', async (_, parameters) => {
    const limited = slice({ ...given, dimensions: ['day', 'app_token'], parameters });
    scenario = await openScenario([limited], { simulator: { world } });
    if (Object.keys(parameters).length === 0) {
      scenario.simulator.script({
        match: reports(),
        times: Infinity,
        fault: report(limitedRows(6, 'The report was truncated')),
      });
    }
    const summary = await runNight(scenario, NOW);
    expect(summary.failures).toEqual([]);
    const { stored, truth } = await storedAndTrue(
      scenario,
      slice({ ...given, dimensions: ['day', 'app_token'] }),
      DAYS,
      NOW,
    );
    expect(stored).toEqual(truth);
    expect(askedReports(scenario).some(({ period }) => daysOf(period) < 4)).toBe(true);
  });

  test('a 401 at the start stops at once: 1 request, nothing touched, exit code 78', async () => {
    scenario = await openScenario([slice({ ...given, refresh: 'nightly' })], { simulator: { world } });
    await runNight(scenario, NOW);
    const before = await contentOf(scenario, 'daily');
    scenario.simulator.setToken('another');
    scenario.simulator.asked.reset();
    const summary = await runNight(scenario, new Date('2026-06-02T02:30:00Z'));
    expect(scenario.simulator.asked.requests.map(({ status }) => status)).toEqual([401]);
    expect(summary.failures).toMatchObject([{ code: 'CREDENTIALS_REFUSED', slice: null }]);
    expect(await contentOf(scenario, 'daily')).toEqual(before);
    expect(await lastRun(scenario)).toEqual({ status: 'failed', exit_code: 78 });
  });
});
