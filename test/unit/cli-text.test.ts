import { tmpdir } from 'node:os';

import { describe, expect, test } from 'vitest';

import { explained, failureLines, failuresText } from '../../src/report/terminal/failure-text.ts';
import { findingsText, type Finding } from '../../src/report/check/finding.ts';
import {
  amountText,
  countText,
  durationText,
  elapsedText,
  percentText,
  sizeText,
} from '../../src/model/measure.ts';
import { planText } from '../../src/commands/plan.ts';
import { JsonLine, oneLine, printable } from '../../src/report/terminal/printable.ts';
import { metricsText } from '../../src/report/terminal/metrics-text.ts';
import { summaryText } from '../../src/report/terminal/summary-text.ts';
import { tableText, textWidth } from '../../src/report/terminal/table.ts';
import { asFailure, Failure } from '../../src/errors.ts';
import type { SyncSummary } from '../../src/run/summary.ts';
import { parseConfig } from '../../src/config/read-config.ts';
import { sampleReport, sampleRun } from '../support/status-sample.ts';
import { textOf } from './cli-recorded-shell.ts';

describe('text from outside', () => {
  test('loses escapes, bells and marks of direction, and keeps every other character, line feeds and tabs too', () => {
    expect(printable('a\u001b[2Jb\u0007c\u202ed\u0085e\r\n\tf')).toBe('a[2Jbcde\n\tf');
    expect(oneLine(' a\n\n b\tc ')).toBe('a b c');
  });

  test('JSON keeps every character', () => {
    const value = { text: 'a\u0000\u007f\u009b\u202e\n"' };
    const { text } = new JsonLine(value);
    expect(printable(text)).toBe(text);
    expect(JSON.parse(text)).toStrictEqual(value);
  });
});

test.each([
  [sizeText(0), '0 B'],
  [sizeText(999), '999 B'],
  [sizeText(1000), '1.0 KB'],
  [sizeText(34_600_000), '35 MB'],
  [elapsedText(0), '0 ms'],
  [elapsedText(1000), '1.0 s'],
  [elapsedText(59_999), '59 s'],
  [elapsedText(60_000), '1 min 00 s'],
  [elapsedText(3_600_000), '1 h 00 min'],
  [elapsedText(259_200_000), '3 days'],
  [durationText(259_200_000), '3 days'],
  [durationText(5_400_000), '90 minutes'],
  [sizeText(4_200_000_000), '4.2 GB'],
  [countText(1, 'row'), '1 row'],
  [countText(1204, 'row'), '1,204 rows'],
  [amountText(-937.456), '-937.46'],
  [amountText(0), '0'],
  [amountText(0.001_234_5), '0.00123'],
  [amountText(122_446.43, 'signed'), '+122,446'],
  [amountText(-0.5, 'signed'), '-0.5'],
  [percentText(1, 3), '33.3 %'],
  [percentText(1199, 1200), '99.9 %'],
  [percentText(99_999, 100_000), '>99.9 %'],
  [percentText(1, 100_000), '<0.1 %'],
  [percentText(0, 0), '0 %'],
  [percentText(-5, 100, 'signed'), '-5 %'],
  [percentText(90, 9, 'signed'), '+1,000 %'],
])('a measure reads %s', (text, expected) => {
  expect(text).toBe(expected);
});

describe('a table', () => {
  const columns = ['name', '#rows'];

  test('aligns by the columns a terminal gives: wide characters, emoji old and new, flags, combining marks', () => {
    const names = ['Kumo 雲', '🎯', '👩‍👩‍👧‍👦', '🫠', '🇫🇷', 'e\u0301te\u0301', 'ᄀ'];
    const lines = tableText({ columns, rows: names.map((name) => [name, '7']) }).split('\n');
    expect(lines.map(textWidth)).toStrictEqual(lines.map(() => 13));
    expect(lines[1]).toBe('Kumo 雲     7');
  });

  test('has numbers to the right, and a cell with a line break on one line', () => {
    const rows = [
      ['a\nb', '7'],
      ['c', '1,204'],
    ];
    expect(tableText({ columns, rows })).toBe('name   rows\na b       7\nc     1,204');
  });

  test('for a file every cell is whole; for a narrow terminal the one that may be cut is, between characters', () => {
    const rows = [['a long name of 雲雲雲', 'abc123def456']];
    const shrinking = { columns: ['~name', 'token'], rows };
    expect(tableText(shrinking).split('\n')[1]).toBe('a long name of 雲雲雲  abc123def456');
    expect(tableText(shrinking, 30).split('\n')[1]).toBe('a long n…雲雲雲   abc123def456');
    expect(tableText(shrinking, 33).split('\n')[1]).toBe('a long na…of 雲雲雲  abc123def456');
  });

  test('of two cells that may be cut the wider is, and none below 8 columns', () => {
    const both = { columns: ['~a', '~b'], rows: [['x'.repeat(30), 'y'.repeat(12)]] };
    expect(tableText(both, 26).split('\n')[1]).toBe(
      `${'x'.repeat(6)}…${'x'.repeat(5)}  ${'y'.repeat(12)}`,
    );
    expect(tableText(both, 5).split('\n')[1]).toBe(
      `${'x'.repeat(4)}…${'x'.repeat(3)}  ${'y'.repeat(4)}…${'y'.repeat(3)}`,
    );
  });
});

describe('failures', () => {
  test('of copies on one full disk are one, and readers keep the night that every copy has', async () => {
    const text = `service: simulator
warehouse: /nowhere/w.duckdb
publish: [{ duckdb: ${tmpdir()}/a.duckdb }, { delta: ${tmpdir()}/tables }]
slices: [{ name: daily, dimensions: [day], metrics: [installs], date_period: today }]`;
    const config = parseConfig(text, { file: 'ripen.yaml', directory: '/', environment: {} });
    const full = 'failed: the disk is full (ENOSPC)';
    const failures = config.publish.map(({ path }) => ({
      code: 'STORAGE_FAILED' as const,
      slice: null,
      window: null,
      message: `Publishing to ${path} ${full}`,
      hint: null,
    }));
    const own = sampleRun({ run_id: 'own', status: 'partial', failures });
    const report = sampleReport([], {
      runs: [own, sampleRun({ as_of: '2026-02-13T02:30:00.000Z' })],
    });
    const [told, ...others] = await explained(failures, config, report, 'own');
    expect([others, told?.count]).toEqual([[], 2]);
    expect(told?.message).toMatch(
      /^The disk of \S+ was full: \S+ \S+ are free now, and a run needs 1.0 GB\. Readers keep the good data of the night of 2026-02-13\.$/,
    );
    expect(told?.message).toContain(` ${tmpdir()} was full`);
    expect(told?.hint).toBe('Free space on that disk, then run `ripen sync` again.');
  });

  test("are printed most serious first, equals in order, each with its hint, lines of the service's own words indented", () => {
    const text = failuresText([
      new Failure('SOURCE_TIMEOUT', 'slice a: no answer'),
      new Failure('DATA_REJECTED', 'it said\nBUG: all is lost'),
      new Failure('STORAGE_FAILED', 'the disk was full', { hint: 'Free some space.' }),
      new Failure('SOURCE_OVERLOADED', 'slice c: 429'),
    ]);
    expect(text.split('\n')).toEqual([
      'STORAGE_FAILED: the disk was full',
      '  hint: Free some space.',
      'DATA_REJECTED: it said',
      '  BUG: all is lost',
      'SOURCE_TIMEOUT: slice a: no answer',
      'SOURCE_OVERLOADED: slice c: 429',
    ]);
  });

  test('as JSON a bug carries its stack, a foreseen failure does not', () => {
    const at = new Date(0);
    const bug = textOf(failureLines(asFailure(new TypeError('oops')), { log: 'json' }, at));
    expect(JSON.parse(bug)).toMatchObject({ type: 'failed', code: 'BUG' });
    expect(bug).toContain('"stack":"TypeError: oops');
    expect(
      textOf(failureLines(new Failure('CONFIG_MISSING', 'no file'), { log: 'json' }, at)),
    ).not.toContain('stack');
  });
});

test('findings come errors first, then warnings, notes and what works, with a count', () => {
  const finding = (severity: Finding['severity'], message: string): Finding => {
    const code = severity === 'error' ? 'SOURCE_REFUSED' : null;
    return { severity, code, slice: 'a', setting: null, place: null, message, hint: null };
  };
  const works = finding('works', 'token accepted');
  expect(
    findingsText(
      [works, finding('note', 'n'), finding('warning', 'w'), finding('error', 'e')],
      null,
    ),
  ).toBe(
    'SOURCE_REFUSED: slice a: e\nwarning: slice a: w\nnote: slice a: n\n✓ token accepted\n1 error, 1 warning',
  );
  const pair = findingsText([works, finding('works', 'apps listed')], 24);
  expect(pair).toBe('✓ token accepted\n✓ apps listed\n0 errors, 0 warnings');
});

const summary: SyncSummary = {
  run_id: 'r1',
  status: 'partial',
  as_of: '2026-02-14T02:30:00.000Z',
  started_at: '2026-02-14T02:30:00.000Z',
  finished_at: '2026-02-14T02:31:05.000Z',
  slices: [
    {
      name: 'network_daily',
      windows: { planned: 9, loaded: 8, failed: 1 },
      requests: 11,
      rows: { fetched: 18_234, loaded: 18_234, rejected: 2 },
      periods: { new: 1, maturing: 14, missing: 0 },
      restated_periods: 6,
      empty_periods: [],
    },
  ],
  partners: { rows: 12 },
  links: { rows: 340, removed: 0 },
  service: { requests: 31, retries: 2, peak_concurrency: 14, bytes: 1_203_442 },
  published: [{ kind: 'parquet', path: '/lake', files_written: 15 }],
  audits: [],
  failures: [
    {
      code: 'SOURCE_TIMEOUT',
      slice: 'network_daily',
      window: null,
      message: 'm',
      hint: null,
      // As grouped: a night has one number of failures in every form.
      count: 5,
    },
  ],
};

test('a summary shows windows, rows, reasons and how the run ended', () => {
  expect(summaryText(summary)).toBe(
    [
      'slice          windows    rows  rejected  restated  periods',
      'network_daily      8/9  18,234         2         6  1 new, 14 maturing',
      'service: 12 partners; 340 links, 0 no longer listed; 31 requests, 2 retried, at most 14 at once, 1.2 MB',
      'published parquet /lake (15 files)',
      'partial in 1 min 05 s with 5 failures, as of 2026-02-14 02:30 UTC (run r1)',
    ].join('\n'),
  );
});

test('a merged failure counts as often as it happened, in the summary as in the metrics', () => {
  const failures = summary.failures.map((failure) => ({ ...failure, count: 3 }));
  expect(summaryText({ ...summary, failures })).toContain(' with 3 failures, ');
  const end = { command: 'sync', endedAt: new Date(0), durationMs: 0, exitCode: 75 };
  const text = metricsText({ ...end, summary: { ...summary, failures }, failures }, null);
  for (const code of ['all', 'SOURCE_TIMEOUT'])
    expect(text).toContain(`ripen_run_failures{command="sync",code="${code}"} 3\n`);
});

test('a summary without rejected rows has no column for them, and none of links that were not requested', () => {
  const slices = summary.slices.map((slice) => ({
    ...slice,
    rows: { ...slice.rows, rejected: 0 },
    periods: {},
  }));
  const text = summaryText({
    ...summary,
    slices,
    partners: { rows: 0 },
    links: { rows: 0, removed: 0 },
  });
  expect(text).not.toContain('links');
  expect(text.split('\n').slice(0, 2)).toStrictEqual([
    'slice          windows    rows  restated  periods',
    'network_daily      8/9  18,234         6  nothing due',
  ]);
});

describe('a plan', () => {
  const both = { new: 1, maturing: 1 };
  const days = { first_day: '2026-02-12', last_day: '2026-02-13' };
  const window = { ...days, periods: 2, reasons: both, requests: 1, rows_expected: 400 };
  const day = {
    first_day: '2026-01-03',
    last_day: '2026-01-03',
    periods: 1,
    reasons: { 'became final': 1 },
  };
  const idle = {
    name: 'idle',
    windows: [],
    reasons: {},
    requests: 0,
    rows_expected: 0,
    refetch_all_rows: 0,
    reversed_period: null,
    periods: 40,
    unfinal_periods: 0,
    saved_periods: 0,
  };
  const due = {
    ...idle,
    requests: 2,
    rows_expected: 600,
    periods: 60,
    unfinal_periods: 31,
    saved_periods: 28,
  };
  const reasons = { ...both, 'became final': 1 };
  const slice = {
    ...due,
    name: 'network_daily',
    reasons,
    windows: [window, { ...day, requests: 1, rows_expected: 200 }],
  };
  const unknown = { ...due, requests: 1, rows_expected: null };
  const never = {
    ...unknown,
    name: 'fresh',
    reasons: both,
    windows: [{ ...window, rows_expected: null }],
  };
  const changed = {
    ...unknown,
    name: 'changed',
    reasons: { 'meaning changed': 2 },
    windows: [{ ...window, reasons: { 'meaning changed': 2 }, rows_expected: null }],
  };
  const reversed = {
    ...idle,
    reversed_period: { first_day: '2026-02-13', last_day: '2026-02-03' },
  };
  const rows = { rows_expected: 600, refetch_all_rows: 6200, saved_rows: 5600 };
  const totals = { as_of: '2026-02-14T02:30:00.000Z', requests: 2, ...rows };

  test('is a line a slice: its windows and reasons, that it was never loaded, or why nothing is due', () => {
    const slices = [slice, never, changed, idle, { ...idle, periods: 0 }, reversed];
    expect(planText({ ...totals, slices }, false).split('\n')).toStrictEqual([
      'slice          windows  requests  rows  why',
      'network_daily        2         2   600  1 new, 1 maturing, 1 became final',
      'fresh                1         1     ?  never loaded, 1 period',
      'changed              1         1     ?  2 meaning changed',
      'idle                 0         0     0  nothing due: every period is final',
      'idle                 0         0     0  nothing due: no day of its date period has begun',
      'idle                 0         0     0  nothing due: its date period ends on 2026-02-03, before it begins, on 2026-02-13',
      '',
      'as of 2026-02-14 02:30 UTC: 2 requests, about 600 rows, and 2 slices of unknown size',
      'refetching everything immature would be about 6,200 rows; the plan saves 90.3 % of them',
      '`ripen plan --slice NAME` shows the windows',
    ]);
  });

  test('of named slices shows each window with its reasons and rows, but of one that was never loaded one line', () => {
    expect(
      planText({ ...totals, slices: [slice, never] }, true)
        .split('\n')
        .slice(0, 7),
    ).toStrictEqual([
      'network_daily: 2 windows, 2 requests, about 600 rows',
      '  window                   periods  requests  rows  why',
      '  2026-02-12 … 2026-02-13        2         1   400  1 new, 1 maturing',
      '  2026-01-03                     1         1   200  1 became final',
      '  31 periods not final, 28 of them not due',
      '',
      'fresh: 1 window, 1 request, never loaded, 1 period; the first answers size the rest',
    ]);
  });
});
