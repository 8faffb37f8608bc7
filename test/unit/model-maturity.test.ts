/** When a cell is final and when a period is due, as tables of instants. All days are January 2026 unless said. */

import { describe, expect, test } from 'vitest';

import { addDays, day, MS_PER_DAY, UTC, type UtcOffset } from '../../src/model/calendar.ts';
import type { PeriodRecord } from '../../src/model/ledger.ts';
import { dueReason } from '../../src/model/maturity.ts';
import type { isFinal } from '../support/finality.ts';
import type { Metric } from '../../src/model/metric.ts';
import type { Period } from '../../src/model/period.ts';
import type { Refresh } from '../../src/model/slice.ts';
import { countMetric, loadedPeriod } from '../support/slice.ts';

const HOUR_MS = 3_600_000;

/** A metric final this many days after its period; null: never. */
const metric = (days: number | null, id = `settles_${days}`): Metric => countMetric(id, days);

function period(
  start: string,
  end: string,
  requested: readonly [string, string] = [start, end],
): Period {
  return {
    bucket: { start: day(start), end: day(end) },
    requested: { start: day(requested[0]), end: day(requested[1]) },
  };
}

function settling(
  refresh: Refresh = 'milestones',
  utcOffset: UtcOffset = UTC,
): Parameters<typeof isFinal>[2] {
  return { utcOffset, settleMs: HOUR_MS, lifetimeMs: 30 * MS_PER_DAY, refresh };
}

/** `11 02:30` is 2026-01-11T02:30Z; days beyond 31 run on into February. */
function at(text: string): Date {
  const [days = '', clock = '00:00'] = text.split(' ');
  const [clockText, ms = '0'] = clock.split('+');
  return new Date(
    Date.parse(`${addDays(day('2025-12-31'), Number(days))}T${clockText}:00Z`) + Number(ms),
  );
}

function loaded(
  of: Period,
  metrics: readonly Metric[],
  fetchedAt: Date,
  change: Partial<PeriodRecord> = {},
): PeriodRecord {
  const { bucket, requested } = of;
  return loadedPeriod({
    bucket,
    requested,
    fetchedAt,
    metrics: metrics.map(({ id }) => id),
    ...change,
  });
}

/** The 10th: over at 11 00:00, age 1 on the 11th. */
const tenth = period('2026-01-10', '2026-01-11');

interface Case {
  readonly settles?: readonly (number | null)[];
  readonly refresh?: Refresh;
  readonly fetched: string;
  readonly asOf: string;
  readonly due: string | null;
}

function reasonOf({ settles = [7], refresh = 'milestones', fetched, asOf }: Case): string | null {
  const metrics = settles.map((days) => metric(days));
  return dueReason(
    tenth,
    loaded(tenth, metrics, at(fetched)),
    metrics,
    settling(refresh),
    at(asOf),
  );
}

describe('a period of the 10th that is loaded', () => {
  test.each<Case>([
    // It was not over: due as soon as it is, at whatever age. A date period may reach to today and a backfill beyond.
    { fetched: '10 12:00', asOf: '10 18:00', due: 'open' },
    { fetched: '10 23:59', asOf: '11 00:00', due: 'open' },
    { fetched: '10 12:00', asOf: '16 00:00', due: 'open' },
    { fetched: '09 12:00', asOf: '10 12:00', due: 'open' },
    { fetched: '11 00:00', asOf: '11 00:01', due: null },
    // By milestones, between 5 and 7, 7 and 10, 10 and 14 nothing is due.
    { fetched: '11 02:00', asOf: '11 23:59', due: null },
    { fetched: '11 23:59', asOf: '12 00:00', due: 'maturing' },
    { fetched: '14 02:00', asOf: '15 02:00', due: 'maturing' },
    { settles: [100], fetched: '15 02:00', asOf: '16 23:59', due: null },
    { settles: [100], fetched: '15 02:00', asOf: '17 00:00', due: 'maturing' },
    { settles: [100], fetched: '17 02:00', asOf: '20 00:00', due: 'maturing' },
    { settles: [100], fetched: '20 02:00', asOf: '24 00:00', due: 'maturing' },
    // After 14 days only finality counts.
    { settles: [100], fetched: '24 02:00', asOf: '111 00:59', due: null },
    { settles: [100], fetched: '24 02:00', asOf: '111 01:00', due: 'became final' },
    // 7 days after the end and 1 hour to settle: 18 01:00.
    { fetched: '17 02:00', asOf: '18 00:59', due: null },
    { fetched: '17 02:00', asOf: '18 01:00', due: 'became final' },
    { fetched: '18 01:00', asOf: '18 01:00+1', due: null },
    // A metric among several: each becomes final once.
    { settles: [2, 7], fetched: '11 02:00', asOf: '13 01:00', due: 'became final' },
    { settles: [2, 7], fetched: '13 01:00', asOf: '18 01:00', due: 'became final' },
    // Finality is named before a milestone that falls on the same day.
    { settles: [4, 7], fetched: '14 02:00', asOf: '15 02:00', due: 'became final' },
    // Its lifetime of 30 days and the hour to settle end at 41 01:00 (10 February); it is still not final then.
    { settles: [null], fetched: '20 02:00', asOf: '24 02:00', due: 'maturing' },
    { settles: [null], fetched: '24 02:00', asOf: '41 00:59', due: null },
    { settles: [null], fetched: '24 02:00', asOf: '41 01:00', due: 'maturing' },
    { settles: [null], fetched: '41 01:00', asOf: '300 00:00', due: null },
    { settles: [60, null], fetched: '41 01:00', asOf: '71 01:00', due: 'became final' },
    {
      settles: [100],
      refresh: 'nightly',
      fetched: '11 02:00',
      asOf: '11 02:00+1',
      due: 'maturing',
    },
    { settles: [100], refresh: 'nightly', fetched: '50 02:00', asOf: '51 02:00', due: 'maturing' },
    {
      settles: [7],
      refresh: 'nightly',
      fetched: '17 02:00',
      asOf: '18 02:00',
      due: 'became final',
    },
    { settles: [7], refresh: 'nightly', fetched: '18 02:00', asOf: '19 02:00', due: null },
    { settles: [100], refresh: [1, 30], fetched: '11 02:00', asOf: '39 23:59', due: null },
    { settles: [100], refresh: [1, 30], fetched: '11 02:00', asOf: '40 00:00', due: 'maturing' },
    {
      settles: [100],
      refresh: [1, 30],
      fetched: '40 00:00',
      asOf: '111 01:00',
      due: 'became final',
    },
    // An age after every horizon asks for nothing more.
    { settles: [7], refresh: [30], fetched: '18 01:00', asOf: '50 00:00', due: null },
  ])(
    'is $due at $asOf when fetched at $fetched, refreshed by $refresh, settling in $settles days',
    (given) => {
      expect(reasonOf(given)).toBe(given.due);
    },
  );
});

test('one metric more makes even a final period due, at the instant of its fetch too, and not for an instant before it', () => {
  const [old, added] = [metric(7, 'old'), metric(7, 'added')];
  const final = loaded(tenth, [old], at('100'));
  const reasons = ['200', '100', '99 23:59'].map((asOf) =>
    dueReason(tenth, final, [old, added], settling(), at(asOf)),
  );
  expect(reasons).toEqual(['metric added', 'metric added', null]);
});
