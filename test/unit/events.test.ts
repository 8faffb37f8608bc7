import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import * as z from 'zod';

import { JsonLines } from '../../src/terminal/progress.ts';
import { openProgress } from '../../src/terminal/progress.ts';
import { statusLine } from '../../src/terminal/status-line.ts';
import { emptyTally, tallied, type Tally } from '../../src/terminal/tally.ts';
import { textWidth } from '../../src/terminal/text-width.ts';
import type { RunEvent } from '../../src/events.ts';
import { recordedShell } from './cli-recorded-shell.ts';

type ByType = { readonly [Type in RunEvent['type']]: Extract<RunEvent, { type: Type }> };

const window = { slice: 'network_daily', window: '2026-01-03:2026-01-09' } as const;

/** One of each; a new kind of event does not compile until it is here. */
const events: ByType = {
  run_started: { type: 'run_started', runId: 'r1', command: 'sync', asOf: '2026-02-14T02:30:00.000Z' },
  lock_waiting: { type: 'lock_waiting', warehouse: '/w.duckdb', holder: 'node (process 7)', waitMs: 60_000 },
  slice_planned: { type: 'slice_planned', slice: 'network_daily', windows: 3, periods: 15 },
  request_retried: { type: 'request_retried', endpoint: 'report', attempt: 2, because: '503', waitMs: 1200 },
  concurrency_changed: { type: 'concurrency_changed', from: 50, to: 25, because: '429' },
  breaker_opened: { type: 'breaker_opened', waitMs: 30_000 },
  breaker_closed: { type: 'breaker_closed' },
  window_asked: { type: 'window_asked', ...window, requests: 2 },
  window_fetched: { type: 'window_fetched', ...window, bytes: 1536, ms: 340 },
  window_loaded: { type: 'window_loaded', ...window, rows: 18_234, restatedPeriods: 6 },
  window_split: { type: 'window_split', ...window, into: 2, because: 'SOURCE_TOO_HEAVY' },
  window_read_as_texts: { type: 'window_read_as_texts', ...window, because: 'a member that is not UTF-8' },
  windows_regrouped: { type: 'windows_regrouped', slice: 'network_daily', from: 4, into: 7 },
  periods_let_go: { type: 'periods_let_go', slice: 'network_daily', periods: 2, rows: 1204, before: '2026-01-03' },
  window_asked_again: { type: 'window_asked_again', ...window, because: 'it would have emptied the window' },
  failed: { type: 'failed', code: 'SOURCE_TIMEOUT', ...window, message: 'no answer in 1000 s', hint: 'Try again.' },
  warning: { type: 'warning', code: 'CLOCK_OFF', slice: null, window: null, message: 'the clock was 6 minutes behind' },
  catalog_loaded: { type: 'catalog_loaded', items: 6170 },
  partners_loaded: { type: 'partners_loaded', rows: 1 },
  links_loaded: { type: 'links_loaded', app: 'abc123def456', rows: 340, requests: 12 },
  spend_settled: { type: 'spend_settled', settled: 1200, due: 4800 },
  published: { type: 'published', kind: 'parquet', path: '/lake', ms: 65_000, filesWritten: 15 },
  run_finished: { type: 'run_finished', runId: 'r1', status: 'partial', ms: 3_780_000 },
};

const at = new Date('2026-02-14T02:30:00.123Z');

describe('an event as a line of a log', () => {
  test.each(Object.values(events))(
    'JSON of $type is one line, its names in snake_case, with level and run',
    (event) => {
      const lines = new JsonLines();
      lines.line(events.run_started, at);
      const { text: line } = lines.line(event, at);
      expect(line).not.toContain('\n');
      const read = z.record(z.string(), z.unknown()).parse(JSON.parse(line));
      expect(Object.keys(read).filter((name) => !/^[a-z]+(_[a-z]+)*$/.test(name))).toStrictEqual([]);
      expect(read).toMatchObject({ at: '2026-02-14T02:30:00.123Z', type: event.type, run_id: 'r1' });
      expect(Object.values(read)).toEqual(expect.arrayContaining(Object.values(event)));
    },
  );

  test.each([
    ['failed', 'error'],
    ['warning', 'warning'],
    ['breaker_opened', 'warning'],
    ['window_loaded', 'info'],
  ] as const)('%s has the level %s', (type, level) => {
    expect(JSON.parse(new JsonLines().line(events[type], at).text)).toMatchObject({ level });
  });
});

/** The tally after these events, each a second after the one before, the first at 0. */
const after = (...happened: readonly RunEvent[]): Tally =>
  happened.reduce((tally, event, index) => tallied(tally, event, index * 1000), emptyTally);

const asked = (days: string): RunEvent => ({ ...events.window_asked, window: days });
const fetched = (days: string): RunEvent => ({ ...events.window_fetched, window: days });

describe('the status line', () => {
  test('says how far the run is, what is in flight and how much was loaded', () => {
    const tally = after(
      events.run_started,
      { ...events.slice_planned, windows: 4 },
      asked('a'),
      asked('b'),
      asked('c'),
      fetched('a'),
      events.window_loaded,
      events.request_retried,
    );
    expect(statusLine(tally, 4500, 200)).toBe(
      'sync 4.5 s · ██░░░░░░░░ · 1/4 windows · 2 in flight · 18,234 rows · 1 retried',
    );
  });

  test('in 40 columns leaves out what matters least, and cuts nothing', () => {
    const tally = after(events.run_started, { ...events.slice_planned, windows: 40 }, asked('a'), events.window_loaded);
    expect(statusLine(tally, 3000, 40)).toBe('sync 3.0 s · 1/40 windows · 1 in flight');
  });

  test.each([10, 20, 40, 80])('leaves the last of %i columns free', (columns) => {
    const wide = { ...events.links_loaded, app: '雲'.repeat(30) };
    expect(textWidth(statusLine(after(...Object.values(events), wide), 0, columns))).toBeLessThan(columns);
  });
});

describe('who listens', () => {
  const text = { log: 'text', quiet: false } as const;

  test('--quiet silences every event in text', () => {
    const shell = recordedShell();
    const progress = openProgress({ ...text, quiet: true }, shell);
    for (const event of Object.values(events)) progress.emit(event);
    expect([...shell.told, ...shell.painted]).toStrictEqual([]);
  });
});

describe('the status line of a terminal', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  /** Lets time pass for the shell's clock and the timers alike. */
  function pass(shell: ReturnType<typeof recordedShell>, ms: number): void {
    shell.advance(ms);
    vi.advanceTimersByTime(ms);
  }

  test('1000 events within a tenth of a second are painted at most twice', () => {
    const shell = recordedShell({ isTerminal: true });
    const progress = openProgress({ log: 'text', quiet: false }, shell);
    for (let count = 0; count < 1000; count += 1) {
      progress.emit(events.window_loaded);
      if (count % 10 === 0) pass(shell, 1);
    }
    expect(shell.painted.length).toBeGreaterThan(0);
    expect(shell.painted.length).toBeLessThanOrEqual(2);
    progress.close();
  });

  test('a warning stays above the line, a loaded window does not', () => {
    const shell = recordedShell({ isTerminal: true });
    const progress = openProgress({ log: 'text', quiet: false }, shell);
    progress.emit(events.window_loaded);
    progress.emit(events.warning);
    expect(shell.told).toStrictEqual(['warning: CLOCK_OFF: the clock was 6 minutes behind']);
    progress.close();
  });

  test('the same failure of 3 windows is told once, that of another slice too', () => {
    const shell = recordedShell({ isTerminal: true });
    const progress = openProgress({ log: 'text', quiet: false }, shell);
    for (const days of ['a', 'b', 'c']) progress.emit({ ...events.failed, window: days });
    progress.emit({ ...events.failed, slice: 'app_hourly' });
    expect(shell.told).toStrictEqual([
      'failed: network_daily a: SOURCE_TIMEOUT: no answer in 1000 s',
      'failed: app_hourly 2026-01-03:2026-01-09: SOURCE_TIMEOUT: no answer in 1000 s',
    ]);
    progress.close();
  });

  test('a signal says that the run is stopping, above the line', () => {
    const stop = new AbortController();
    const shell = { ...recordedShell({ isTerminal: true }), signal: stop.signal };
    const progress = openProgress({ log: 'text', quiet: false }, shell);
    stop.abort();
    expect(shell.told).toStrictEqual(['stopping once what is under way has ended; Ctrl-C again ends at once']);
    progress.close();
  });
});
