import { describe, expect, test } from 'vitest';

import { failureLines, failuresText } from '../../src/commands/failure-text.ts';
import { findingsText, type Finding } from '../../src/commands/finding.ts';
import { bytesText, countText, elapsedText } from '../../src/commands/measure.ts';
import { planText } from '../../src/commands/plan.ts';
import { jsonLine, oneLine, printable } from '../../src/commands/printable.ts';
import { summaryText } from '../../src/commands/summary-text.ts';
import { tableText } from '../../src/commands/table.ts';
import { asFailure, Failure } from '../../src/errors.ts';
import type { SyncSummary } from '../../src/sync-summary.ts';

describe('text from outside', () => {
  test('loses escapes, bells and marks of direction, and keeps every other character, line feeds and tabs too', () => {
    expect(printable('a\u001b[2Jb\u0007c\u202ed\u0085e\r\n\tf')).toBe('a[2Jbcde\n\tf');
  });

  test('on one line has no line break', () => {
    expect(oneLine(' a\n\n b\tc ')).toBe('a b c');
  });

  test('a link a terminal would make clickable is plain text', () => {
    expect(printable('\u001b]8;;https://evil.example.com\u0007click\u001b]8;;\u0007')).not.toContain('\u001b');
  });

  test('JSON keeps every character', () => {
    const value = { text: 'a\u0000\u007f\u009b\u202e\n"' };
    expect(printable(jsonLine(value))).toBe(jsonLine(value));
    expect(JSON.parse(jsonLine(value))).toStrictEqual(value);
  });
});

test.each([
  [bytesText(0), '0 B'],
  [bytesText(1023), '1023 B'],
  [bytesText(1024), '1.0 KiB'],
  [bytesText(35_651_584), '34 MiB'],
  [elapsedText(0), '0 ms'],
  [elapsedText(1000), '1.0 s'],
  [elapsedText(59_999), '59 s'],
  [elapsedText(60_000), '1 min 00 s'],
  [elapsedText(3_600_000), '1 h 00 min'],
  [countText(1, 'row'), '1 row'],
  [countText(1204, 'row'), '1,204 rows'],
])('a measure reads %s', (text, expected) => {
  expect(text).toBe(expected);
});

describe('a table', () => {
  test('aligns by characters, numbers to the right', () => {
    const text = tableText(
      [{ title: 'name' }, { title: 'rows', align: 'right' }],
      [
        ['Kumo 雲', '7'],
        ['🎯', '1,204'],
      ],
    );
    expect(text).toBe('name     rows\nKumo 雲      7\n🎯       1,204');
  });

  test('a cell with a line break stays one line', () => {
    expect(tableText([{ title: 'a' }], [['x\ny']])).toBe('a\nx y');
  });
});

describe('failures', () => {
  test('are printed gravest first, equals in order, each with its hint', () => {
    const text = failuresText([
      new Failure('SOURCE_TIMEOUT', 'slice a: no answer'),
      new Failure('DATA_REJECTED', 'slice b: 3 rows'),
      new Failure('STORAGE_FAILED', 'the disk was full', { hint: 'Free some space.' }),
      new Failure('SOURCE_OVERLOADED', 'slice c: 429'),
    ]);
    expect(text).toBe(
      'STORAGE_FAILED: the disk was full\n  hint: Free some space.\nDATA_REJECTED: slice b: 3 rows\nSOURCE_TIMEOUT: slice a: no answer\nSOURCE_OVERLOADED: slice c: 429',
    );
  });

  test("lines of the service's own words are indented, so that they cannot pass for ours", () => {
    expect(failuresText([new Failure('SOURCE_REFUSED', 'it said\nBUG: all is lost')])).toBe(
      'SOURCE_REFUSED: it said\n  BUG: all is lost',
    );
  });

  test('as JSON a bug carries its stack, a foreseen failure does not', () => {
    const at = new Date(0);
    const bug = failureLines(asFailure(new TypeError('oops')), 'json', at);
    expect(JSON.parse(bug)).toMatchObject({ type: 'failed', code: 'BUG' });
    expect(bug).toContain('"stack":"TypeError: oops');
    expect(failureLines(new Failure('CONFIG_MISSING', 'no file'), 'json', at)).not.toContain('stack');
  });
});

test('findings come errors first, then warnings, then notes, with a count', () => {
  const finding = (severity: Finding['severity'], message: string): Finding => ({
    severity,
    code: severity === 'error' ? 'SOURCE_REFUSED' : null,
    slice: 'a',
    message,
    hint: null,
  });
  expect(findingsText([finding('note', 'n'), finding('warning', 'w'), finding('error', 'e')])).toBe(
    'SOURCE_REFUSED: slice a: e\nwarning: slice a: w\nnote: slice a: n\n1 error, 1 warning',
  );
});

test('a summary shows windows, rows, reasons and how the run ended', () => {
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
      },
    ],
    partners: { rows: 12 },
    links: { rows: 340, removed: 0 },
    service: { requests: 31, retries: 2, peak_concurrency: 14, bytes: 1_203_442 },
    published: [{ kind: 'parquet', path: '/lake', files_written: 15 }],
    failures: [{ code: 'SOURCE_TIMEOUT', slice: 'network_daily', window: null, message: 'm', hint: null }],
  };
  expect(summaryText(summary)).toBe(
    [
      'slice          windows    rows  rejected  restated  periods',
      'network_daily      8/9  18,234         2         6  1 new, 14 maturing',
      '',
      'partners: 12 rows; links: 340 rows, 0 no longer listed',
      'service: 31 requests, 2 retried, at most 14 at once, 1.1 MiB',
      'published parquet /lake (15 files)',
      'partial as of 2026-02-14T02:30:00.000Z in 1 min 05 s with 1 failure (run r1)',
    ].join('\n'),
  );
});

test('a plan shows each window with its reasons, and what it saves', () => {
  const text = planText({
    as_of: '2026-02-14T02:30:00.000Z',
    slices: [
      {
        name: 'network_daily',
        windows: [
          {
            first_day: '2026-02-12',
            last_day: '2026-02-13',
            periods: 2,
            reasons: { new: 1, maturing: 1 },
            requests: 1,
          },
          { first_day: '2026-01-03', last_day: '2026-01-03', periods: 1, reasons: { 'became final': 1 }, requests: 1 },
        ],
        requests: 2,
        rows_expected: 600,
        unfinal_periods: 31,
        saved_periods: 28,
      },
      { name: 'idle', windows: [], requests: 0, rows_expected: 0, unfinal_periods: 0, saved_periods: 0 },
    ],
    requests: 2,
    rows_expected: 600,
    refetch_all_rows: 6200,
  });
  expect(text).toBe(
    [
      'network_daily: 2 windows, 2 requests, about 600 rows (31 periods not final, 28 of them not due)',
      '  window                   periods  requests  why',
      '  2026-02-12 … 2026-02-13        2         1  1 new, 1 maturing',
      '  2026-01-03                     1         1  1 became final',
      '',
      'idle: nothing due (0 periods not final, 0 of them not due)',
      '',
      'as of 2026-02-14T02:30:00.000Z: 2 requests, about 600 rows',
      'refetching everything immature would ask for about 6,200 rows; the plan saves 5,600 of them',
    ].join('\n'),
  );
});
