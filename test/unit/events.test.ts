import { beforeEach, describe, expect, test, vi } from 'vitest';
import * as z from 'zod';

import { jsonLines, openProgress } from '../../src/report/terminal/progress.ts';
import { sentenceOf } from '../../src/report/terminal/sentence.ts';
import { textWidth } from '../../src/report/terminal/table.ts';
import type { RunEvent } from '../../src/events.ts';
import { recordedShell } from './cli-recorded-shell.ts';

type ByType = { readonly [Type in RunEvent['type']]: Extract<RunEvent, { type: Type }> };

const window = { slice: 'network_daily', window: '2026-01-03:2026-01-09' } as const;

/** One of each; a new kind of event does not compile until it is here. */
const events: ByType = {
  run_started: {
    type: 'run_started',
    runId: 'r1',
    command: 'sync',
    asOf: '2026-02-14T02:30:00.000Z',
  },
  lock_waiting: {
    type: 'lock_waiting',
    warehouse: '/w.duckdb',
    holder: 'node (process 7)',
    waitMs: 60_000,
  },
  slice_planned: {
    type: 'slice_planned',
    slice: 'network_daily',
    windows: 3,
    periods: { new: 1, maturing: 14 },
  },
  request_retried: {
    type: 'request_retried',
    endpoint: 'report',
    attempt: 2,
    because: '503',
    waitMs: 1200,
  },
  concurrency_changed: { type: 'concurrency_changed', from: 50, to: 25, because: '429' },
  breaker_opened: { type: 'breaker_opened', waitMs: 30_000 },
  breaker_closed: { type: 'breaker_closed' },
  window_asked: { type: 'window_asked', ...window, requests: 2 },
  window_fetched: { type: 'window_fetched', ...window, requests: 2, bytes: 1536, ms: 340 },
  window_missed: { type: 'window_missed', ...window, requests: 1, because: 'SOURCE_TOO_HEAVY' },
  window_loaded: {
    type: 'window_loaded',
    ...window,
    rows: 18_234,
    fetched: 18_240,
    rejected: 6,
    restated: ['2026-01-03', '2026-01-04'],
    empty: ['2026-01-09:2026-01-09'],
  },
  window_split: {
    type: 'window_split',
    ...window,
    by: 'days',
    into: 2,
    because: 'SOURCE_TOO_HEAVY',
  },
  totals_moved: {
    type: 'totals_moved',
    slice: 'network_daily',
    periods: 3,
    waiting: 2,
    message: 'control totals of 3 periods moved, such as installs of 2026-01-04 from 120 to 123',
  },
  windows_regrouped: { type: 'windows_regrouped', slice: 'network_daily', from: 12, into: 3 },
  periods_deleted: {
    type: 'periods_deleted',
    slice: 'network_daily',
    periods: 2,
    rows: 1204,
    before: '2026-01-03',
  },
  window_asked_again: {
    type: 'window_asked_again',
    ...window,
    because: 'it would have emptied the window',
  },
  failed: {
    type: 'failed',
    code: 'SOURCE_TIMEOUT',
    ...window,
    message: 'no answer in 1000 s',
    hint: 'Try again.',
  },
  warning: {
    type: 'warning',
    code: 'CLOCK_OFF',
    slice: null,
    window: null,
    message: 'the clock was 6 minutes behind',
  },
  catalog_loaded: { type: 'catalog_loaded', items: 6170 },
  partners_loaded: { type: 'partners_loaded', rows: 1 },
  links_loaded: { type: 'links_loaded', app: 'abc123def456', rows: 340, requests: 12, removed: 3 },
  dimensions_stored: { type: 'dimensions_stored', partners: 13, links: 120 },
  spend_settled: { type: 'spend_settled', settled: 1200, due: 4800 },
  published: { type: 'published', kind: 'parquet', path: '/lake', ms: 65_000, filesWritten: 15 },
  run_finished: { type: 'run_finished', runId: 'r1', status: 'partial', ms: 3_780_000 },
};

const at = new Date('2026-02-14T02:30:00.123Z');

describe('an event as a sentence', () => {
  test.each([
    ['run_started', 'sync started as of 2026-02-14T02:30:00.000Z (run r1)'],
    ['lock_waiting', 'waiting up to 1 minute for /w.duckdb, held by node (process 7)'],
    ['slice_planned', 'network_daily: 15 periods due in 3 windows'],
    ['request_retried', 'report: attempt 2 ended with 503, next in 1.2 s'],
    ['concurrency_changed', 'simultaneous calls: 50 → 25, because of 429'],
    ['breaker_opened', 'the service keeps failing: nothing is sent for 30 s'],
    ['breaker_closed', 'the service answers again'],
    ['window_asked', 'network_daily 2026-01-03:2026-01-09: requested in 2 parts'],
    ['window_fetched', 'network_daily 2026-01-03:2026-01-09: fetched 1.5 KB in 340 ms'],
    [
      'window_loaded',
      'network_daily 2026-01-03:2026-01-09: loaded 18,234 rows, 2 periods restated',
    ],
    ['windows_regrouped', 'network_daily: 12 windows became 3'],
    [
      'window_split',
      'network_daily 2026-01-03:2026-01-09: split by days into 2, because of SOURCE_TOO_HEAVY',
    ],
    [
      'window_asked_again',
      'network_daily 2026-01-03:2026-01-09: requested again, because of it would have emptied the window',
    ],
    [
      'periods_deleted',
      'network_daily: removed 2 periods before 2026-01-03, 1,204 rows, as retain says',
    ],
    ['failed', 'failed: network_daily 2026-01-03:2026-01-09: SOURCE_TIMEOUT: no answer in 1000 s'],
    ['warning', 'warning: CLOCK_OFF: the clock was 6 minutes behind'],
    ['catalog_loaded', 'catalog: 6,170 items'],
    ['partners_loaded', 'partners: 1 row'],
    ['window_missed', 'network_daily 2026-01-03:2026-01-09: not fetched: SOURCE_TOO_HEAVY'],
    ['dimensions_stored', 'stored: 13 partners, 120 links'],
    ['links_loaded', 'links of abc123def456: 340 rows in 12 requests'],
    ['spend_settled', 'ad spend: 1,200 of 4,800 lines'],
    ['published', 'published parquet /lake: 15 files in 1 min 05 s'],
    ['run_finished', 'run r1 partial after 1 h 03 min'],
  ] as const)('%s', (type, sentence) => {
    expect(sentenceOf(events[type])).toBe(sentence);
  });

  test('a message with line breaks and colours of the service becomes one plain line', () => {
    const message = 'bad\u001b[31m\u202e news\r\n2026-02-14 everything is fine\u0007';
    expect(sentenceOf({ ...events.warning, message })).toBe(
      'warning: CLOCK_OFF: bad[31m news 2026-02-14 everything is fine',
    );
  });
});

describe('an event as a line of a log', () => {
  test.each(Object.values(events))(
    'JSON of $type is one line, its names in snake_case, with level and run',
    (event) => {
      const lines = jsonLines();
      lines(events.run_started, at);
      const { text: line } = lines(event, at);
      expect(line).not.toContain('\n');
      const read = z.record(z.string(), z.unknown()).parse(JSON.parse(line));
      expect(Object.keys(read).filter((name) => !/^[a-z]+(_[a-z]+)*$/.test(name))).toStrictEqual(
        [],
      );
      expect(read).toMatchObject({
        at: '2026-02-14T02:30:00.123Z',
        type: event.type,
        run_id: 'r1',
      });
      expect(Object.values(read)).toEqual(expect.arrayContaining(Object.values(event)));
    },
  );

  test.each([
    ['failed', 'error'],
    ['warning', 'warning'],
    ['breaker_opened', 'warning'],
    ['window_loaded', 'info'],
  ] as const)('%s has the level %s, and belongs to no run before one has begun', (type, level) => {
    expect(JSON.parse(jsonLines()(events[type], at).text)).toMatchObject({ level, run_id: null });
  });
});

/** What a display with these options shows of all events. */
function shownOf(options: Parameters<typeof openProgress>[0], isTerminal = false) {
  const shell = recordedShell({ isTerminal });
  const progress = openProgress(options, shell);
  for (const event of Object.values(events)) progress.emit(event);
  return shell;
}

describe('who listens', () => {
  const text = { log: 'text' } as const;

  test('--quiet silences every event in text, and leaves failures in JSON lines, 1 of 25 events', () => {
    const silent = shownOf({ ...text, quiet: true }, true);
    expect([...silent.told, ...silent.painted]).toStrictEqual([]);
    const { told } = shownOf({ log: 'json', quiet: true });
    expect(told.map((line) => /"type":"(\w+)"/.exec(line)?.[1])).toStrictEqual(['failed']);
  });

  test('--verbose writes every event on a line that begins with its instant, and JSON one an object: neither paints', () => {
    const verbose = shownOf({ ...text, verbose: true }, true);
    expect(verbose.told).toHaveLength(Object.keys(events).length);
    expect(verbose.told).toContain('2026-02-14T02:30:00Z the service answers again');
    const json = shownOf({ log: 'json' }, true);
    expect(json.told).toHaveLength(Object.keys(events).length);
    expect([...verbose.painted, ...json.painted]).toStrictEqual([]);
  });

  test('without a terminal a night of 12 slices of 9 windows is 14 lines: a slice when it is done, the begin, the end', () => {
    const shell = recordedShell();
    const progress = openProgress(text, shell);
    progress.emit(events.run_started);
    const names = Array.from({ length: 12 }, (_, index) => `slice_${index}`);
    for (const slice of names) progress.emit({ ...events.slice_planned, slice, windows: 9 });
    for (const slice of names) {
      for (let count = 0; count < 9; count += 1) {
        progress.emit({ ...events.window_asked, slice });
        progress.emit({ ...events.window_fetched, slice });
        progress.emit({ ...events.window_loaded, slice });
      }
    }
    progress.emit(events.run_finished);
    progress.close();
    expect(shell.told).toHaveLength(14);
    expect(shell.told[1]).toBe(
      '2026-02-14T02:30:00Z slice_0: 9 windows loaded, 164,106 rows, 2 periods restated',
    );
  });
});

describe('the status line of a terminal', () => {
  beforeEach(() => {
    vi.useFakeTimers();
    return () => vi.useRealTimers();
  });

  function opened(isTerminal = true) {
    const stop = new AbortController();
    const shell = { ...recordedShell({ isTerminal }), signal: stop.signal };
    const progress = openProgress({ log: 'text' }, shell);
    // For the shell's clock and the timers alike.
    const pass = (ms: number): void => {
      shell.advance(ms);
      vi.advanceTimersByTime(ms);
    };
    return { shell, progress, stop, pass };
  }

  test('1000 events within a tenth of a second are painted at most twice', () => {
    const { shell, progress, pass } = opened();
    for (let count = 0; count < 1000; count += 1) {
      progress.emit(events.window_loaded);
      if (count % 10 === 0) pass(1);
    }
    expect(shell.painted.length).toBeGreaterThan(0);
    expect(shell.painted.length).toBeLessThanOrEqual(2);
    progress.close();
  });

  test('says how far the run is, in at most the width of the terminal, without its last column', () => {
    const { shell, progress, pass } = opened();
    progress.emit(events.run_started);
    progress.emit({ ...events.slice_planned, windows: 4 });
    for (const days of ['a', 'b', 'c']) progress.emit({ ...events.window_asked, window: days });
    pass(5000);
    progress.emit({ ...events.window_fetched, window: 'a' });
    progress.emit(events.window_loaded);
    pass(1000);
    const line = shell.painted.at(-1)?.slice(1, -'\u001b[K'.length) ?? '';
    expect(line).toContain('sync 6.0 s · ██░░░░░░░░ · 1/4 windows');
    expect(textWidth(line)).toBeLessThan(60);
    progress.close();
  });

  test('a minute without a terminal is a line that says how far the run is', () => {
    const { shell, progress, pass } = opened(false);
    progress.emit({ ...events.slice_planned, windows: 4 });
    pass(60_000);
    expect(shell.told).toStrictEqual([
      '2026-02-14T02:31:00Z ripen 1 min 00 s · ░░░░░░░░░░ · 0/4 windows',
    ]);
    progress.close();
  });

  test('a warning stays above the line, and so does that the run is stopping; a loaded window does not', () => {
    const { shell, progress, stop } = opened();
    progress.emit(events.window_loaded);
    progress.emit(events.warning);
    stop.abort();
    expect(shell.told).toStrictEqual([
      'warning: CLOCK_OFF: the clock was 6 minutes behind',
      'stopping once the current work has ended; press Ctrl-C again to end at once',
    ]);
    progress.close();
  });
});
