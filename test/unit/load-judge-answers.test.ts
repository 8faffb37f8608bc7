/** The verdict on what the service answered, before a single row is read. */

import { describe, expect, test } from 'vitest';

import {
  type AnswerPage,
  type Doubt,
  type InspectedAnswer,
  judgeAnswers,
  pageOf,
  type SoundPage,
} from '../../src/load/answers.ts';
import { saysCut } from '../../src/spool/beside-rows.ts';
import type { Window } from '../../src/model/window.ts';
import { textWith } from '../support/matching.ts';
import { slice, windowOfDays } from '../support/slice.ts';

function windowWith(parameters: Record<string, string> = {}): Window {
  const declared = slice({
    name: 'daily',
    dimensions: ['day', 'app'],
    metrics: ['installs', 'cost'],
    parameters,
  });
  return windowOfDays(declared, '2026-01-03');
}

const keys = (...names: readonly string[]): ReadonlySet<string> => new Set(names);
const ALL = keys('day', 'app', 'installs', 'cost', 'attr_dependency');

function answer(change: Partial<SoundPage> = {}): SoundPage {
  return {
    rowCount: 3,
    keys: ALL,
    commonKeys: ALL,
    badLabel: null,
    totals: new Map(),
    leadsOn: false,
    warnings: [],
    maturity: { computedAt: null, immature: [], unread: [] },
    ...change,
  };
}

const broken: AnswerPage = { because: 'it had no member rows' };
const lacking = (...names: readonly string[]): ReadonlySet<string> =>
  new Set([...ALL].filter((key) => !names.includes(key)));

/** What was requested of a part. */
const place = { partNo: 0, metrics: ['installs', 'cost'] };

/** A part whose pages were all followed. */
const part = (...pages: AnswerPage[]): InspectedAnswer => ({ ...place, pages, unfollowed: null });
const nothing = part();

/** What is said about the completeness of each part. */
function doubts(
  parts: readonly InspectedAnswer[],
  parameters: Record<string, string> = {},
): readonly (Doubt | null)[] {
  const judged = judgeAnswers(windowWith(parameters), parts);
  return 'kind' in judged ? [] : judged.answers.map(({ doubt }) => doubt);
}

const empty = answer({ rowCount: 0, keys: keys(), commonKeys: keys() });
const without = (...names: readonly string[]): SoundPage =>
  answer({ keys: lacking(...names), commonKeys: lacking(...names) });
const some = (name: string): SoundPage => answer({ commonKeys: lacking(name) });

type Case = [name: string, parts: readonly InspectedAnswer[], verdict: string, says?: RegExp];

const cases: readonly Case[] = [
  ['one whole answer', [part(answer())], 'sound'],
  ['nothing at all (204)', [nothing], 'sound'],
  ['no rows', [part(empty)], 'sound'],
  ['two parts, one of them empty', [part(answer()), nothing], 'sound'],
  ['two pages', [part(answer(), answer())], 'sound'],
  ['a metric that only some rows carry', [part(some('cost'))], 'sound'],
  ['no attr_dependency', [part(without('attr_dependency'))], 'sound'],
  [
    'a file that is no report',
    [part(broken)],
    'request again DATA_MALFORMED',
    /was not one complete report: it had no member rows\.$/,
  ],
  [
    'one file of two that is no report',
    [part(answer()), part(broken)],
    'request again DATA_MALFORMED',
  ],
  ['a second page that is no report', [part(answer(), broken)], 'request again DATA_MALFORMED'],
  [
    'a dimension that one row lacks',
    [part(some('app'))],
    'failed DATA_MALFORMED',
    /dimension app\b/,
  ],
  ['a second page that lacks a dimension', [part(answer(), some('app'))], 'failed DATA_MALFORMED'],
];

describe('an answer', () => {
  test.each<Case>(cases)('with %s is judged', (_, parts, verdict, says) => {
    const judged = judgeAnswers(windowWith(), parts);
    const found =
      'kind' in judged
        ? `${judged.kind} ${'failure' in judged ? judged.failure.code : ''}`
        : 'sound';
    const message = 'failure' in judged ? judged.failure.message : '';
    expect(found).toBe(verdict);
    expect(message).toMatch(says ?? /^/);
    expect(verdict === 'sound' || message.startsWith('slice daily, 2026-01-03:2026-01-03: ')).toBe(
      true,
    );
  });

  test('with nothing odd about it is sound without a warning, its totals as they were written', () => {
    const totals = new Map([['cost', '1.50']]);
    expect(judgeAnswers(windowWith(), [part(answer({ totals }))])).toEqual({
      answers: [{ ...place, rowCount: 3, totals: [totals], unfollowed: null, doubt: null }],
      warnings: [],
      maturity: { computedAt: null, immature: [], unread: null },
    });
  });

  test('whose last page names a further one was not followed to its end', () => {
    const judged = judgeAnswers(windowWith(), [
      part(answer({ leadsOn: true }), answer({ leadsOn: true })),
    ]);
    expect(judged).toMatchObject({
      answers: [{ unfollowed: textWith('the last page named a further one') }],
    });
  });

  test('is read alike whatever blanks its JSON has between values', () => {
    const members = new Map([
      ['totals', '{ "installs" : 1000 , "cost" : "1.50" }'],
      ['errors', '[ ]'],
      ['pagination', '{ "next" : "p2" }'],
    ]);
    const shown = {
      rows: 3,
      members,
      keys: [...ALL],
      commonKeys: [...ALL],
      badLabel: null,
      because: null,
    };
    const totals = new Map([
      ['installs', '1000'],
      ['cost', '1.50'],
    ]);
    expect(pageOf(shown)).toMatchObject({ rowCount: 3, totals, leadsOn: true });
  });

  test('in 2 pages has the rows and the totals of both; a last page with neither states nothing', () => {
    const totals = new Map([['cost', '1.50']]);
    const pages = [answer({ totals }), answer({ totals }), empty];
    expect(judgeAnswers(windowWith(), [nothing, part(...pages)])).toMatchObject({
      answers: [
        { rowCount: 0, totals: [], doubt: null },
        { rowCount: 6, totals: [totals, totals], doubt: null },
      ],
    });
  });

  test.each([
    [['app'], 'dimension app', 'app'],
    [['app', 'day'], 'dimension day, app', 'day, app'],
    [['cost'], 'metric cost', 'cost'],
    [['cost', 'app', 'installs'], 'dimension app and metric installs, cost', 'app, installs, cost'],
  ])(
    'that lacks %j names just these, as words and as a fact, and says where to look',
    (names, words, missing) => {
      const judged = judgeAnswers(windowWith(), [part(without(...names))]);
      expect('failure' in judged && judged.failure).toMatchObject({
        code: 'DATA_MALFORMED',
        message: `slice daily, 2026-01-03:2026-01-03: the rows lacked the requested ${words}.`,
        facts: { missing },
        hint: textWith('Run `ripen check`'),
      });
    },
  );

  test('that is sound names keys that came unasked in order, metrics that some rows lack, and each warning once', () => {
    const judged = judgeAnswers(windowWith(), [
      part(answer({ keys: new Set([...ALL, 'zeta', 'alpha']), warnings: ['slow', 'old'] })),
      nothing,
      part(
        answer({
          keys: new Set([...ALL, 'alpha']),
          commonKeys: lacking('cost'),
          warnings: ['slow'],
        }),
      ),
    ]);
    expect(judged).toMatchObject({
      warnings: [
        { code: 'SERVICE_WARNING', message: 'The service warned: slow' },
        { code: 'SERVICE_WARNING', message: 'The service warned: old' },
        {
          code: 'UNKNOWN_KEYS',
          message: 'Rows carried keys that were not requested, kept in _extra: alpha, zeta.',
        },
        {
          code: 'MISSING_KEYS',
          message: 'Some rows lacked a requested metric, which is NULL there: cost.',
        },
      ],
    });
  });
});

describe('the doubt that an answer is not complete', () => {
  const warned = (...warnings: string[]): readonly InspectedAnswer[] => [
    part(answer({ warnings })),
  ];
  const limited = 'The number of rows was limited to 10000';
  const exactly = 'Only the first 3 rows are shown';

  test('is none of 3 rows under a limit of 4, nor of a harmless warning', () => {
    expect(doubts([part(answer())], { limit: '4' })).toEqual([null]);
    expect(doubts(warned('Some data is estimated'))).toEqual([null]);
  });

  test.each(['3', '2'])(
    'of 3 rows under a limit of %s cannot be refuted by totals, which may be of those rows',
    (limit) => {
      const because = 'the answer had 3 rows, as many as the limit that was sent';
      expect(doubts([part(answer())], { limit })).toEqual([{ because, isRefutable: false }]);
    },
  );

  test('is none of no rows under a limit of 0', () => {
    expect(doubts([part(empty)], { limit: '0' })).toEqual([null]);
  });

  test('is none where pages were not followed to the end: why is told of that part', () => {
    const unfollowed = 'its pages did not end after 7';
    const judged = judgeAnswers(windowWith(), [
      part(answer()),
      { ...part(answer()), unfollowed },
      nothing,
    ]);
    expect('kind' in judged ? [] : judged.answers.map((each) => each.unfollowed)).toEqual([
      null,
      unfollowed,
      null,
    ]);
  });

  test('of a warning can be refuted, unless it names the very 3 rows that came, on whichever page it stands', () => {
    expect(doubts(warned('fine', limited))).toEqual([
      { because: `the service warned: ${limited}`, isRefutable: true },
    ]);
    expect(doubts(warned(exactly))).toEqual([
      { because: `the service warned: ${exactly}`, isRefutable: false },
    ]);
    expect(
      doubts([part(answer({ rowCount: 2 }), answer({ rowCount: 1, warnings: [exactly] }))]),
    ).toEqual([{ because: `the service warned: ${exactly}`, isRefutable: false }]);
  });

  test('is the plainest of several warnings, not the first', () => {
    expect(doubts(warned(limited, exactly))).toEqual([
      { because: `the service warned: ${exactly}`, isRefutable: false },
    ]);
  });
});

describe('a warning', () => {
  test.each([
    'The number of rows was limited to 10000',
    'Result TRUNCATED',
    'partial results',
    'incomplete data',
    'too many rows',
    'not all rows are shown',
    'Response size limit exceeded; output was cut.',
    'Only 10,000 rows are returned',
    'Your report exceeds 50000 rows.',
    'More than 50,000 results; narrow the date range',
    'Maximum number of rows reached: 10000',
    'Showing 10000 of 25000 records',
    'Showing 10 000 out of the 25 000 rows.',
    'Top 1000 results by installs',
  ])('%j says that rows are missing', (warning) => {
    expect(saysCut(warning, 3)).toBe('words');
  });

  test.each([
    '',
    'Some metrics are estimated',
    'SKAN data may be delayed',
    'Rate limit: 50 requests a minute',
    'rows_limit_reached_events is not available for this app',
    'The metric cost_cut_results was renamed',
    'Cost was limited by the network',
    'Data of 3 networks is delayed until 2026-02-14',
    'Results of 2026-02-14 are preliminary',
    'Maximum look-back is 25 months',
    'Reports are cached for up to 15 minutes',
    'Campaign "Cut the rope" was paused',
  ])('%j says nothing of missing rows', (warning) => {
    expect(saysCut(warning, 3)).toBe('no');
  });

  test.each([
    ['The number of rows was limited to 10000', 10_000],
    ['Rows limited to 10,000.', 10_000],
    ['Rows limited to 10 000', 10_000],
    ["Rows limited to 1'000'000", 1_000_000],
    ['Rows limited to 10000, 25000 available', 10_000],
    ['Showing 10000 of 25000 records', 10_000],
    ['Results truncated (500/7000)', 500],
  ])('%j names exactly %i rows', (warning, rows) => {
    expect([saysCut(warning, rows), saysCut(warning, rows - 1), saysCut(warning, 0)]).toEqual([
      'exactly these rows',
      'words',
      'words',
    ]);
  });

  test.each([
    ['Data for 2026-02-14 is incomplete', 14],
    ['Data for 2026-02-14 is incomplete', 2026],
    ['About 5 % of the data is incomplete', 5],
    ['metric_30 data is incomplete', 30],
  ])('%j names no number of rows, not %i', (warning, rows) => {
    expect(saysCut(warning, rows)).toBe('words');
  });
});
