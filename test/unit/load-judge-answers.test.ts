/** The verdict on what the service answered, before a single row is read. */

import { describe, expect, test } from 'vitest';

import { saysTruncated, type Answer, type BrokenAnswer } from '../../src/load/answers.ts';
import { judgeAnswers } from '../../src/load/judge-answers.ts';
import { day } from '../../src/model/calendar.ts';
import { windowOf, type Window } from '../../src/model/window.ts';
import { textWith } from '../support/matching.ts';
import { slice } from '../support/slice.ts';

function windowWith(parameters: Record<string, string> = {}): Window {
  const declared = slice({ name: 'daily', dimensions: ['day', 'app'], metrics: ['installs', 'cost'], parameters });
  const bucket = { start: day('2026-01-03'), end: day('2026-01-04') };
  return windowOf(declared, 'f', [{ period: { bucket, asked: bucket }, reason: 'new' }]);
}

const keys = (...names: readonly string[]): ReadonlySet<string> => new Set(names);
const ALL = keys('day', 'app', 'installs', 'cost', 'attr_dependency');

function answer(change: Partial<Answer> = {}): Answer {
  return {
    path: 'a.json',
    rowCount: 3,
    keys: ALL,
    commonKeys: ALL,
    totals: new Map(),
    warnings: [],
    isPaged: false,
    ...change,
  };
}

const broken: BrokenAnswer = { path: 'b.json', because: 'it held no rows' };
const lacking = (...names: readonly string[]): ReadonlySet<string> =>
  new Set([...ALL].filter((key) => !names.includes(key)));

interface Case {
  readonly name: string;
  readonly answers: readonly (Answer | BrokenAnswer | null)[];
  readonly parameters?: Record<string, string>;
  readonly verdict: string;
  readonly says?: RegExp;
}

const cases: readonly Case[] = [
  { name: 'one whole answer', answers: [answer()], verdict: 'sound' },
  { name: 'nothing at all (204)', answers: [null], verdict: 'sound' },
  { name: 'no rows', answers: [answer({ rowCount: 0, keys: keys(), commonKeys: keys() })], verdict: 'sound' },
  { name: 'two parts, one of them empty', answers: [answer(), null], verdict: 'sound' },
  {
    name: 'a metric that only some rows carry',
    answers: [answer({ commonKeys: lacking('cost') })],
    verdict: 'sound',
  },
  {
    name: 'no attr_dependency',
    answers: [answer({ keys: lacking('attr_dependency'), commonKeys: lacking('attr_dependency') })],
    verdict: 'sound',
  },
  {
    name: 'fewer rows than the limit that was sent',
    answers: [answer()],
    parameters: { limit: '4' },
    verdict: 'sound',
  },
  { name: 'a harmless warning', answers: [answer({ warnings: ['Some data is estimated'] })], verdict: 'sound' },
  { name: 'a file that is no report', answers: [broken], verdict: 'ask again DATA_MALFORMED', says: /it held no rows/ },
  { name: 'one file of two that is no report', answers: [answer(), broken], verdict: 'ask again DATA_MALFORMED' },
  {
    name: 'a dimension that one row lacks',
    answers: [answer({ commonKeys: lacking('app') })],
    verdict: 'failed DATA_MALFORMED',
    says: /dimension app\b/,
  },
  {
    name: 'a metric that no row carries',
    answers: [answer({ keys: lacking('cost'), commonKeys: lacking('cost') })],
    verdict: 'failed DATA_MALFORMED',
    says: /metric cost\b/,
  },
  {
    name: 'a dimension and both metrics gone',
    answers: [answer({ keys: keys('day'), commonKeys: keys('day') })],
    verdict: 'failed DATA_MALFORMED',
    says: /dimension app and metric installs, cost/,
  },
  { name: 'one page of several', answers: [answer({ isPaged: true })], verdict: 'split DATA_INCOMPLETE', says: /page/ },
  {
    name: 'a warning of limited rows',
    answers: [answer({ warnings: ['fine', 'The number of rows was limited to 10000'] })],
    verdict: 'split DATA_INCOMPLETE',
    says: /limited to 10000/,
  },
  {
    name: 'as many rows as the limit that was sent',
    answers: [answer()],
    parameters: { limit: '3' },
    verdict: 'split DATA_INCOMPLETE',
    says: /3 rows/,
  },
  {
    name: 'more rows than the limit',
    answers: [answer()],
    parameters: { limit: '2' },
    verdict: 'split DATA_INCOMPLETE',
  },
  { name: 'no rows of a page', answers: [answer({ rowCount: 0, isPaged: true })], verdict: 'split DATA_INCOMPLETE' },
  {
    name: 'a page that lacks a dimension',
    answers: [answer({ isPaged: true, commonKeys: lacking('app') })],
    verdict: 'failed DATA_MALFORMED',
  },
];

describe('an answer', () => {
  test.each(cases)('with $name is judged: $verdict', ({ answers, parameters, verdict, says }) => {
    const judged = judgeAnswers(windowWith(parameters), answers);
    const found = 'kind' in judged ? `${judged.kind} ${'failure' in judged ? judged.failure.code : ''}` : 'sound';
    const message = 'failure' in judged ? judged.failure.message : '';
    expect(found).toBe(verdict);
    expect(message).toMatch(says ?? /^/);
    expect(verdict === 'sound' || message.startsWith('slice daily, 2026-01-03:2026-01-03: ')).toBe(true);
  });

  test('with nothing odd about it is sound without a warning', () => {
    const whole = answer();
    expect(judgeAnswers(windowWith(), [whole])).toEqual({ answers: [whole], warnings: [], extra: [], heaviest: 0 });
  });

  test('that is no report says what is wrong with it, and to run again', () => {
    const judged = judgeAnswers(windowWith(), [broken]);
    expect('failure' in judged && judged.failure).toMatchObject({
      message: 'slice daily, 2026-01-03:2026-01-03: the answer was not one whole report: it held no rows.',
      hint: 'Run again later; nothing was loaded.',
    });
  });

  test.each([
    [['app'], 'dimension app', 'app'],
    [['app', 'day'], 'dimension day, app', 'day, app'],
    [['cost'], 'metric cost', 'cost'],
    [['cost', 'app'], 'dimension app and metric cost', 'app, cost'],
  ])('that lacks %j names just these, as words and as a fact, and says where to look', (names, words, missing) => {
    const left = lacking(...names);
    const judged = judgeAnswers(windowWith(), [answer({ keys: left, commonKeys: left })]);
    expect('failure' in judged && judged.failure).toMatchObject({
      message: `slice daily, 2026-01-03:2026-01-03: the rows lacked the requested ${words}.`,
      facts: { missing },
      hint: textWith('Run `ripen check`'),
    });
  });

  test('that is not complete says how many rows it had, and what may help', () => {
    const judged = judgeAnswers(windowWith({ limit: '3' }), [answer()]);
    expect('failure' in judged && judged.failure).toMatchObject({
      message:
        'slice daily, 2026-01-03:2026-01-03: the answer was not complete: the answer had 3 rows, as many as the limit that was sent.',
      facts: { rows: 3 },
      hint: 'Remove `limit`, or drop a dimension from the slice; nothing was loaded.',
    });
  });

  test('that must be split says which of 3 parts was the trouble', () => {
    const judged = judgeAnswers(windowWith(), [answer(), null, answer({ isPaged: true })]);
    expect(judged).toMatchObject({ kind: 'split', partNo: 2 });
  });

  test('that is sound names the heaviest part, keys that came unasked in order, and each warning once', () => {
    const judged = judgeAnswers(windowWith(), [
      answer({ keys: new Set([...ALL, 'zeta', 'alpha']), warnings: ['slow', 'old'] }),
      null,
      answer({ rowCount: 9, keys: new Set([...ALL, 'alpha']), warnings: ['slow'] }),
    ]);
    expect(judged).toMatchObject({
      heaviest: 2,
      extra: ['alpha', 'zeta'],
      warnings: [
        { code: 'SERVICE_WARNING', message: 'The service warned: slow' },
        { code: 'SERVICE_WARNING', message: 'The service warned: old' },
        { code: 'UNKNOWN_KEYS', message: 'Rows carried keys that were not asked for, kept in _extra: alpha, zeta.' },
      ],
    });
    expect('answers' in judged ? judged.answers : []).toHaveLength(2);
  });
});

describe('a warning', () => {
  test.each([
    ['The number of rows was limited to 10000', true],
    ['Result TRUNCATED', true],
    ['partial results', true],
    ['incomplete data', true],
    ['too many rows', true],
    ['not all rows are shown', true],
    ['Some metrics are estimated', false],
    ['SKAN data may be delayed', false],
    ['', false],
  ])('%j says that rows are missing: %j', (warning, truncated) => {
    expect(saysTruncated(warning)).toBe(truncated);
  });
});
