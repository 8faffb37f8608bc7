/** What a run asks for, and why: reasons and sizes as tables. The laws are in test/property/plan.test.ts. */

import { describe, expect, test } from 'vitest';

import { addDays, day, type DayInterval, daysBetween } from '../../src/model/calendar.ts';
import { fingerprintOf, type Slice } from '../../src/model/slice.ts';
import { type PeriodRecord, type SliceLedger, type SliceTable } from '../../src/model/ledger.ts';
import { emptyLedger } from '../support/plain-values.ts';
import type { Metric } from '../../src/model/metric.ts';
import { labelOf } from '../../src/model/window.ts';
import { planSlice, resized, type SlicePlan, windowDays } from '../../src/plan/plan.ts';
import { countMetric, loadedPeriod, slice } from '../support/slice.ts';

const daily = slice({
  name: 'daily',
  dimensions: ['day', 'app'],
  metrics: ['installs'],
  datePeriod: { first: { day: day('2026-01-01') }, last: { daysAgo: 1 } },
});

const metricsOf = ({ metrics }: Slice): Metric[] => metrics.map((id) => countMetric(id, 7));

const interval = (start: string, end: string): DayInterval => ({
  start: day(start),
  end: day(end),
});

const loaded = (bucket: DayInterval, change: Partial<PeriodRecord> = {}): PeriodRecord =>
  loadedPeriod({
    bucket,
    fetchedAt: new Date('2026-06-01T02:30:00Z'),
    metrics: ['installs'],
    ...change,
  });

/** Single days, loaded long after they were final unless said otherwise. */
const daysLoaded = (days: readonly string[], change: Partial<PeriodRecord> = {}): PeriodRecord[] =>
  days.map((start) => loaded({ start: day(start), end: addDays(day(start), 1) }, change));

function table(periods: readonly PeriodRecord[], change: Partial<SliceTable> = {}): SliceTable {
  return {
    fingerprint: fingerprintOf(daily),
    state: 'live',
    size: null,
    periods: new Map(periods.map((period) => [period.bucket.start, period])),
    ...change,
  };
}

const livingIn = (live: SliceTable): SliceLedger => ({ live, building: null });

const JUNE = '2026-06-02T02:30:00Z';

function planOf(
  of: Slice,
  ledger: SliceLedger,
  at = JUNE,
  forced: DayInterval | null = null,
): SlicePlan {
  return planSlice({ slice: of, metrics: metricsOf(of), ledger, planAt: new Date(at), forced });
}

function planned(
  of: Slice,
  ledger: SliceLedger,
  at: string,
  forced: DayInterval | null = null,
): readonly string[] {
  const plan = planOf(of, ledger, at, forced);
  return plan.windows.map((window) => {
    const reasons = [...new Set(window.periods.map(({ reason }) => reason))].join(', ');
    return `${labelOf(window)} ${reasons}`;
  });
}

const january = {
  ...daily,
  datePeriod: { first: { day: day('2026-01-01') }, last: { day: day('2026-01-05') } },
};

describe('the reasons of a plan', () => {
  test('a hole before what is loaded is missing, what comes after it is new, and both stand apart', () => {
    const dense = livingIn(table(daysLoaded(['2026-01-02', '2026-01-04'], { rows: 1000 })));
    expect(planned(january, dense, JUNE)).toEqual([
      '2026-01-01:2026-01-01 missing',
      '2026-01-03:2026-01-03 missing',
      '2026-01-05:2026-01-05 new',
    ]);
  });

  test('days between that are not due are asked along where their rows cost less than another request', () => {
    const sparse = livingIn(table(daysLoaded(['2026-01-02', '2026-01-04'], { rows: 100 })));
    expect(planned(january, sparse, JUNE)).toEqual(['2026-01-01:2026-01-05 missing, between, new']);
  });
});

describe('a backfill', () => {
  const weekly = slice({ ...daily, name: 'weekly', dimensions: ['week', 'app'], grain: 'week' });

  test('asks for days outside the date period, final ones too', () => {
    const ledger = livingIn(table(daysLoaded(['2026-01-01', '2026-01-02'])));
    expect(planned(january, ledger, JUNE, interval('2025-12-31', '2026-01-03'))).toEqual([
      '2025-12-31:2026-01-02 forced',
    ]);
  });

  test('of one day of a week takes the whole week that the date period covers, and what was loaded of it', () => {
    expect(planned(weekly, emptyLedger, JUNE, interval('2026-01-07', '2026-01-08'))).toEqual([
      '2026-01-05:2026-01-11 forced',
    ]);
    expect(planned(weekly, emptyLedger, JUNE, interval('2026-01-03', '2026-01-04'))).toEqual([
      '2026-01-01:2026-01-04 forced',
    ]);
    const held = table([loaded(interval('2025-12-29', '2026-01-05'))], {
      fingerprint: fingerprintOf(weekly),
    });
    expect(planned(weekly, livingIn(held), JUNE, interval('2026-01-03', '2026-01-04'))).toEqual([
      '2025-12-29:2026-01-04 forced',
    ]);
  });
});

describe('the size of a window', () => {
  const hourly = slice({ ...daily, name: 'hourly', dimensions: ['hour', 'app'], grain: 'hour' });
  const days = (maxDays: number) => ({ maxDays, parts: null, learnedAt: new Date(JUNE) });
  const withRows = (rows: number, change: Partial<SliceTable> = {}): SliceTable =>
    table(daysLoaded(['2026-01-01', '2026-01-02'], { rows }), change);

  test.each<[string, number, SliceTable | null]>([
    ['nothing known', 7, null],
    ['only empty days', 7, withRows(0)],
    ['1 row a day', 366, withRows(1)],
    ['1000 rows a day', 50, withRows(1000)],
    ['49999 rows a day', 1, withRows(49_999)],
    ['50001 rows a day', 1, withRows(50_001)],
    ['3000000 rows a day', 1, withRows(3_000_000)],
    [
      'nothing loaded, 3 days were too many 7 days ago',
      7,
      table([], { size: { ...days(3), learnedAt: new Date('2026-05-26T02:30:00Z') } }),
    ],
    ['1000 rows a day, 10 days were too many', 10, withRows(1000, { size: days(10) })],
    ['1000 rows a day, 100 days were too many', 50, withRows(1000, { size: days(100) })],
    ['nothing loaded, 3 days were too many', 3, table([], { size: days(3) })],
  ])('with %s is %i days', (_, expected, known) => {
    expect(windowDays(daily, known, new Date(JUNE))).toBe(expected);
  });

  test.each<[string, number, SliceTable | null, readonly number[]]>([
    ['1 kB a day', 1000, null, [92, 53]],
    ['600 kB a day', 600_000, null, [50, 50, 45]],
    ['40 MB a day', 40_000_000, null, Array<number>(145).fill(1)],
    ['1 kB a day, 40 days were too many', 1000, table([], { size: days(40) }), [40, 40, 40, 25]],
  ])('of a first answer of %s is that of the other 145 days too', (_, bytes, known, expected) => {
    const plan = planOf(daily, known === null ? emptyLedger : livingIn(known));
    const others = resized(plan, plan.windows.slice(0, -1), bytes);
    const sizes = others.map(({ requested }) => daysBetween(requested.start, requested.end));
    expect(sizes).toEqual(expected);
    expect(others[0]?.requested.end).toBe('2026-05-26');
  });

  test('of hours begins with 1 day', () => {
    expect(windowDays(hourly, null, new Date(JUNE))).toBe(1);
    expect(planned({ ...hourly, datePeriod: january.datePeriod }, emptyLedger, JUNE)).toEqual(
      [1, 2, 3, 4, 5].map((date) => `2026-01-0${date}:2026-01-0${date} new`),
    );
  });

  test('is smaller where rows are wide: of 1000 rows a day with 199 metrics it is 10 days', () => {
    const wide = {
      ...daily,
      metrics: Array.from({ length: 199 }, (_, at) => `metric_${at}`),
      dimensions: ['day'],
    };
    expect(windowDays(wide, withRows(1000), new Date(JUNE))).toBe(10);
  });
});
