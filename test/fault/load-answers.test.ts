/** FAULTS 5, 6, 9, 10, 13, 15 to 19, 37, 44: answers that are not what was requested, whole and once. */

import { readdir } from 'node:fs/promises';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import type { FailureCode } from '../../src/errors.ts';
import type { Slice } from '../../src/model/slice.ts';
import { type Cases, loadCases, tableOf } from '../support/cases.ts';
import { column, lastRun, storedAndTrue } from '../support/contents.ts';
import { textWith } from '../support/matching.ts';
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
import type { Fault } from '../support/simulator/faults.ts';
import { addedWarning, type ReportMutation, rowsOf } from '../support/simulator/mutations.ts';
import { slice } from '../support/slice.ts';

const NOW = new Date('2026-06-01T02:30:00Z');
const DAYS = '2026-05-28:2026-05-31';

const given = {
  dimensions: ['day', 'app_token', 'os_name'],
  metrics: ['installs', 'cost', 'ecpi'],
  datePeriod: { first: { day: day('2026-05-28') }, last: { day: day('2026-05-31') } },
} as const;

/** A window of 4 days, its 2 halves and its 4 days; what cannot be divided by days may then be by values. */
const SPLIT = 7;
const MAX_WHEN_SPLIT = 100;
/** A window of one day, and then the values of one dimension. */
const PARTS = 4;
const MAX_PARTS = 30;

interface Expected {
  readonly requests: number;
  /** Requests that suffer the fault; all of them unless stated. */
  readonly times?: number;
  readonly of?: Partial<Slice>;
  /** Where the window fails. */
  readonly code?: FailureCode;
  readonly says?: string;
  /** What its warnings contain; none where nothing is stated. */
  readonly warns?: readonly string[];
  /** How many of its rows the service did not state so. */
  readonly differs?: number;
  /** How many rows it has, where that is not all of them. */
  readonly rows?: number;
  readonly verdict?: string;
}
type Row = readonly [name: string, fault: Fault, expected: Expected];

const loads = (requests: number, more: Omit<Expected, 'requests'> = {}): Expected => ({
  requests,
  ...more,
});
const once = (requests: number): Expected => ({ requests, times: requests - 1 });
const fails = (
  code: FailureCode,
  requests: number,
  says: string,
  of: Partial<Slice> = {},
): Expected => {
  return { requests, code, says, of };
};

const endless = (requests: number, says: string): Expected =>
  fails('SOURCE_ENDLESS_PAGES', requests, says);
const malformed = (requests: number, says: string): Expected =>
  fails('DATA_MALFORMED', requests, says);
const conflicts = (says: string): Expected => fails('DATA_DUPLICATE_KEY', 1, says);
const isOutside = (says: string): Expected => fails('DATA_OUTSIDE_WINDOW', 1, says);
const incomplete = (requests: number, says: string, of: Partial<Slice> = {}): Expected =>
  fails('DATA_INCOMPLETE', requests, says, of);

const report = (mutate: ReportMutation): Fault => ({ kind: 'report', mutate });
const beside = (members: object): Fault => report((document) => ({ ...document, ...members }));
const json = (text: string, contentType = 'application/json'): Fault => {
  return { kind: 'status', status: 200, body: { text, contentType } };
};
const html = '<html><body>Please sign in to continue</body></html>';
const row = (more: string): Fault =>
  json(
    `{"rows":[{"day":"2026-05-28","app_token":"a","os_name":"ios","installs":"1","cost":"1","ecpi":"1"${more}`,
  );
const warn = { completeness: 'warn' } as const;
const oneDay = {
  datePeriod: { first: { day: day('2026-05-30') }, last: { day: day('2026-05-30') } },
} as const;
const narrow = { ...oneDay, dimensions: ['day', 'os_name'] };

/** The first row once with one change, and once more with another. */
const twice = (one: object, other: object): Fault =>
  report((document) => {
    const [first, ...rest] = rowsOf(document);
    return { ...document, rows: [{ ...first, ...one }, ...rest, { ...first, ...other }] };
  });

/** The first 3 rows with the sums of these, and whatever is stated of further pages. */
const firstOf = (pagination: unknown): ReportMutation => {
  return (document) => {
    const rows = rowsOf(document).slice(0, 3);
    const sum = (metric: string): number =>
      rows.reduce((all, each) => all + Number(each[metric]), 0);
    const totals = { installs: sum('installs'), cost: Math.round(sum('cost') * 1e6) / 1e6 };
    return { ...document, rows, totals, pagination };
  };
};
/** The same rows at ever new addresses. */
function repeating(): ReportMutation {
  let [page, first] = [1, null as ReturnType<ReportMutation> | null];
  const query =
    'dimensions=day&metrics=installs&date_period=2026-05-30:2026-05-30&os_name__not_in=';
  return (document) => {
    first ??= firstOf(null)(document);
    page += 1;
    return {
      ...first,
      pagination: { next: `/reports-service/report?page=${page}&${query}${repeats}` },
    };
  };
}
const elsewhere = { next: 'https://elsewhere.example.com/2' };
const roundedTotals: ReportMutation = (document) => ({
  ...document,
  totals: Object.fromEntries(
    Object.entries(document['totals'] ?? {}).map(([name, total]) => [
      name,
      Math.round(Number(total)),
    ]),
  ),
});

const loaded: readonly Row[] = [
  ['a reset in the middle of the body', { kind: 'cut' }, once(2)],
  ['JSON cut in half under 200', { kind: 'garbled', edit: 'truncated' }, once(2)],
  [
    'JSON cut after a row, so that it still ends in a brace',
    json('{"rows":[{"day":"2026-05-28"}'),
    once(2),
  ],
  ['rows that are null, twice', report(nullRows()), once(3)],
  [
    'an inner status of 500, once',
    beside({ debug: { service_urls: [{ status_code: 500 }] } }),
    once(2),
  ],
  [
    'more than 5 rows cut off with words about it',
    report(limitedRows(5, 'The report was truncated')),
    loads(SPLIT),
  ],
  ['more than 5 rows cut off in silence', report(limitedRows(5, null)), loads(SPLIT)],
  [
    'a warning about something else',
    report(addedWarning('Rates of yesterday')),
    loads(1, { warns: ['Rates of'] }),
  ],
  [
    'a warning whose words hold limit, of a metric',
    report(addedWarning('Metric limit_ad_tracking_installs is not available')),
    loads(1, { warns: ['limit_ad_tracking_installs'] }),
  ],
  [
    'a warning of limited rows that the totals refute',
    report(addedWarning('Result limited to 10000 rows')),
    loads(1, { warns: ['limited to 10000'] }),
  ],
  [
    'a pagination inside debug and meta',
    beside({
      debug: { pagination: { page: 1, total_pages: 3 } },
      meta: [{ pagination: { next: '/2' } }],
    }),
    loads(1),
  ],
  ['a row that comes twice', report(duplicatedRow(0)), loads(1, { warns: ['1 identical rows'] })],
  [
    'a row that comes twice, with its attr_dependency in another order',
    twice(
      { attr_dependency: { a: 1, b: [{ x: '1', y: 2 }] } },
      { attr_dependency: { b: [{ y: 2, x: '1' }], a: 1 } },
    ),
    loads(1, { warns: ['1 identical rows'], differs: 1 }),
  ],
  [
    'a key that was not requested',
    report(extraKey('surprise', { deep: [1, '2'] })),
    loads(1, { warns: ['surprise'] }),
  ],
  [
    'totals of 1 less than the rows under warn',
    report(wrongTotal('installs', -1)),
    loads(1, { of: warn, warns: ['installs'], verdict: 'unproven' }),
  ],
  [
    'a next page at another origin under warn',
    report(firstOf(elsewhere)),
    loads(1, { of: { ...warn, ...oneDay }, warns: [''], rows: 3, verdict: 'unproven' }),
  ],
  [
    'a next page in a form that is not known under warn',
    report(firstOf({ links: { next: '/2' } })),
    loads(1, { of: { ...warn, ...oneDay }, warns: [''], rows: 3, verdict: 'unproven' }),
  ],
  [
    'totals of an earlier period within its totals',
    report((document) => {
      return {
        ...document,
        totals: { ...Object(document['totals']), earlier: { installs: 1, cost: '1' } },
      };
    }),
    loads(1),
  ],
  [
    'totals of money alone that are whole numbers',
    report(roundedTotals),
    loads(1, { of: { metrics: ['cost'] }, warns: ['the rows sum to'], verdict: 'unverifiable' }),
  ],
  [
    'totals of money that are whole numbers beside a count that agrees',
    report(roundedTotals),
    loads(1, { of: { metrics: ['installs', 'cost'] } }),
  ],
];

const repeats = tableOf(loaded.length);
const failed: readonly Row[] = [
  [
    'a next page with the rows of the page before',
    report(repeating()),
    endless(2, '/report?page=2'),
  ],
  [
    'a next page at another origin',
    report(paginated(elsewhere)),
    endless(1, 'led to https://elsewhere.'),
  ],
  [
    'a next page by number',
    report(firstOf({ page: 1, total_pages: 4 })),
    endless(1, '"total_pages":4'),
  ],
  ['rows that are null, always', report(nullRows()), malformed(3, 'no member rows')],
  ['an error object under 200', json('{"error":"try later"}'), malformed(3, 'try later')],
  [
    'an inner status of 500',
    beside({ debug: { service_urls: [{ status_code: 500 }] } }),
    malformed(3, 'status_code 500'),
  ],
  [
    'rows beside an error',
    beside({ error_code: 'query cancelled' }),
    malformed(3, 'query cancelled'),
  ],
  ['a row with one key twice', row(',"installs":"2"}]}'), malformed(3, '"installs" twice')],
  [
    'NaN in its totals',
    row('}],"totals":{"ecpi":NaN}}'),
    malformed(3, 'its member totals is not JSON: {"ecpi":NaN}'),
  ],
  [
    'a warning Infinity',
    row('}],"warnings":[Infinity]}'),
    malformed(3, 'member warnings is not JSON: [Infinity]'),
  ],
  [
    'a row that is null',
    json('{"rows":[null]}'),
    malformed(3, 'no object where one belongs, at byte 9'),
  ],
  [
    'no rows beside 5 installs',
    json('{"rows":[],"totals":{"installs":5.0}}'),
    incomplete(PARTS, "the service's total was", narrow),
  ],
  [
    'two documents in one body',
    { kind: 'garbled', edit: 'two_documents' },
    malformed(3, 'more data after the document'),
  ],
  ['HTML under 200', json(html, 'text/html'), fails('SOURCE_GARBLED', 2, 'Please sign in')],
  ['HTML that says it is JSON', json(html), fails('SOURCE_GARBLED', 2, 'Please sign in')],
  [
    'a 400',
    { kind: 'status', status: 400, body: 'detail', message: 'is too long' },
    fails('SOURCE_REFUSED', 1, 'is too long'),
  ],
  [
    'a 403',
    { kind: 'status', status: 403, message: 'Not permitted' },
    fails('ACCESS_FORBIDDEN', 1, 'Not permitted'),
  ],
  [
    'a redirect',
    { kind: 'redirect', origin: 'https://elsewhere.example.com' },
    fails('SOURCE_REDIRECTED', 1, 'https://elsewhere'),
  ],
  [
    'a row twice with other values',
    report(duplicatedRow(0, { installs: '987654' })),
    conflicts('987654'),
  ],
  [
    'a row twice, once with a key',
    report(duplicatedRow(0, { surprise: '1' })),
    conflicts('"surprise":"1"'),
  ],
  [
    'a row twice, with other lists',
    twice({ surprise: [1, 2] }, { surprise: [2, 1] }),
    conflicts('[2,1]'),
  ],
  [
    'a day after the window',
    report(replacedValue(0, 'day', '2026-06-01')),
    isOutside('2026-06-01'),
  ],
  [
    'a day before the window',
    report(replacedValue(0, 'day', '2026-05-27')),
    isOutside('2026-05-27'),
  ],
  [
    'a day in local form',
    report(replacedValue(0, 'day', '05/28/2026')),
    malformed(1, '05/28/2026'),
  ],
  [
    'a day that does not exist',
    report(replacedValue(0, 'day', '2026-02-30')),
    malformed(1, '2026-02-30'),
  ],
  ['a day that is null', report(replacedValue(0, 'day', null)), malformed(1, 'null')],
  [
    'a dimension missing in the rows',
    report(missingKey('app_token')),
    malformed(1, 'dimension app_token'),
  ],
  ['a metric missing in the rows', report(missingKey('cost')), malformed(1, 'metric cost')],
  ['totals that are off by 1', report(wrongTotal('installs', 1)), incomplete(SPLIT, 'installs')],
  [
    'totals that are off by a cent',
    report(wrongTotal('cost', 0.01)),
    incomplete(PARTS, 'cost', narrow),
  ],
  [
    'a warning of limited rows without totals',
    report((document) => ({
      ...addedWarning('Result limited to 10000 rows')(document),
      totals: {},
    })),
    incomplete(PARTS, 'limited to 10000', narrow),
  ],
];

describe('a slice', () => {
  const rows = [...loaded, ...failed];
  const plain = slice({
    ...given,
    name: tableOf(rows.length),
    parameters: { os_name__not_in: tableOf(rows.length) },
  });
  let cases: Cases;

  beforeAll(async () => {
    const sound: Row = ['nothing', report((document) => document), loads(1)];
    const all = [...rows, sound].map(([, fault, { times, of }]) => ({ fault, times, of }));
    cases = await loadCases(given, all, NOW);
  });
  afterAll(() => cases.close());

  const expectRequests = (index: number, wanted: number): void => {
    expect(cases.requestsOf(index)).toBeGreaterThanOrEqual(wanted);
    const most = { [SPLIT]: MAX_WHEN_SPLIT, [PARTS]: MAX_PARTS }[wanted] ?? wanted;
    expect(cases.requestsOf(index)).toBeLessThanOrEqual(most);
  };
  const failuresOf = (index: number) =>
    cases.summary.failures.filter((failure) => failure.slice === tableOf(index));

  test.each(loaded.map(([name, , expected], index) => [name, expected, index] as const))(
    'equals the truth after %s',
    async (_, { requests, warns = [], differs = 0, rows: count, verdict = 'proven' }, index) => {
      const { scenario, slices } = cases;
      expect(failuresOf(index)).toEqual([]);
      expectRequests(index, requests);
      const { stored, truth } = await storedAndTrue(scenario, slices[index] ?? plain, DAYS, NOW);
      expect(stored).toHaveLength(count ?? truth.length);
      expect(stored.filter((each) => !truth.includes(each))).toHaveLength(differs);
      const of = `where slice = '${tableOf(index)}'`;
      const messages = await column(
        scenario,
        `select message from ripen.warnings ${of} order by message`,
      );
      expect(messages).toEqual(warns.map(textWith));
      expect(await column(scenario, `select distinct verdict from ripen.loads ${of}`)).toEqual([
        verdict,
      ]);
      expect(
        await column(scenario, `select count(*) from ripen.finality ${of} and is_final`),
      ).toEqual(['0']);
    },
  );

  test.each(
    failed.map(([name, , expected], index) => [name, expected, loaded.length + index] as const),
  )('fails for %s, and nothing of it is loaded', async (_, { requests, code, says }, index) => {
    const failures = failuresOf(index);
    expect(new Set(failures.map((failure) => failure.code))).toEqual(new Set([code]));
    expect(failures.map(({ message }) => message).join('\n')).toContain(says);
    expectRequests(index, requests);
    expect(await column(cases.scenario, `select count(*) from ${tableOf(index)}`)).toEqual(['0']);
    const periods = `select count(*) from ripen.periods where slice = '${tableOf(index)}'`;
    expect(await column(cases.scenario, periods)).toEqual(['0']);
  });

  test('beside all of these loads its 4 days, the most serious failure gives the exit code 78, and no part of an answer is left', async () => {
    const { stored, truth } = await storedAndTrue(cases.scenario, plain, DAYS, NOW);
    expect(stored).toEqual(truth);
    expect(await lastRun(cases.scenario)).toEqual({ status: 'partial', exit_code: 78 });
    expect(await readdir(cases.scenario.directory, { recursive: true })).toEqual([
      'warehouse.duckdb',
    ]);
    const unasked = loaded.findIndex(([name]) => name === 'a key that was not requested');
    const kept = await column(
      cases.scenario,
      `select distinct _extra::varchar from ${tableOf(unasked)}`,
    );
    expect(kept).toEqual(['{"surprise":{"deep":[1,"2"]}}']);
  });
});
