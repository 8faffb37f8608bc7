/** Compares the periods and cells that a slice should have with those that are stored. Pure. */

import * as z from 'zod';

import { addDays, dayAt, lastDay, startOfDayAt } from '../model/calendar.ts';
import { coveredPeriods, ageOf } from '../model/period.ts';
import { periodStates as ledgerStates } from '../model/maturity.ts';
import type { Slice } from '../model/slice.ts';
import { count, dayShape } from '../warehouse/sql.ts';
import {
  type CellSpan,
  cellStates,
  type MetricStatus,
  type ShownPeriodState,
  type PeriodStatus,
  type SliceStatus,
} from './status-report.ts';

export const storedPeriod = z.object({
  start_day: dayShape,
  end_day: dayShape,
  asked_start: dayShape,
  asked_end: dayShape,
  fetched_at: z.string(),
  rows: count,
  rejected: count,
  state: z.enum(ledgerStates),
  is_unproven: z.boolean(),
  next_refresh_at: z.string().nullable(),
  /** False if the slice now has another meaning or more metrics; null if unknown. */
  is_as_configured: z.boolean().nullable(),
});

/** A row of `status/finality`: consecutive periods in one state, by the first and last start day. */
export const storedRange = z.object({
  metric: z.string(),
  kind: z.string(),
  horizon_days: z.number().nullable(),
  horizon_from: z.string(),
  state: z.enum(cellStates),
  first_day: z.string(),
  last_day: z.string(),
});

/** `start`, the first day of the bucket, is the key in the ledger. */
export interface Expected {
  readonly start: string;
  readonly status: PeriodStatus;
}

/** Returns every period of the slice's coverage at an instant, in order. */
export function expectedPeriods(
  slice: Slice,
  stored: readonly z.infer<typeof storedPeriod>[],
  planAt: Date,
): Expected[] {
  const byStart = new Map(stored.map((period) => [period.start_day, period]));
  const loaded = stored.map((period) => ({
    requested: { start: period.asked_start, end: period.asked_end },
  }));
  return coveredPeriods(slice, loaded, planAt).map((period) => {
    const sameStart = byStart.get(period.bucket.start);
    // What is stored is another period if the date dimension has changed, or, without one, the date period.
    const found = sameStart?.end_day === period.bucket.end ? sameStart : undefined;
    return {
      start: period.bucket.start,
      status: {
        first_day: period.requested.start,
        last_day: lastDay(period.requested),
        age_days: ageOf(period, planAt, slice.utcOffset),
        state: found?.state ?? 'missing',
        fetched_at: found?.fetched_at ?? null,
        rows: found?.rows ?? null,
        rejected: found?.rejected ?? null,
        next_refresh_at:
          found?.is_as_configured === false
            ? planAt.toISOString()
            : (found?.next_refresh_at ?? null),
      },
    };
  });
}

export function periodCounts(periods: readonly PeriodStatus[]): SliceStatus['periods'] {
  const counts: Record<ShownPeriodState, number> = {
    missing: 0,
    open: 0,
    maturing: 0,
    final: 0,
    cut: 0,
    empty: 0,
  };
  for (const { state } of periods) counts[state] += 1;
  return { expected: periods.length, loaded: periods.length - counts.missing, ...counts };
}

/**
 * Returns when a fetch is next due: now if a period is missing, or not over and not just fetched. Else at the next refresh of a
 * period, or at the start of the next day if that is earlier and the date period moves.
 */
export function nextRefreshAt(
  slice: Slice,
  periods: readonly PeriodStatus[],
  planAt: Date,
): string | null {
  const now = planAt.toISOString();
  if (periods.some(({ state, fetched_at: at }) => at === null || (state === 'open' && at < now)))
    return now;
  const tomorrow = startOfDayAt(addDays(dayAt(planAt, slice.utcOffset), 1), slice.utcOffset);
  const moves = 'day' in slice.datePeriod.last ? [] : [tomorrow.toISOString()];
  const expected = periods.map((period) => period.next_refresh_at).filter((at) => at !== null);
  return [...expected, ...moves].toSorted().at(0) ?? null;
}

/** `meanings` are the comments of the columns. */
export function metricStatuses(
  metrics: readonly string[],
  periods: readonly Expected[],
  ranges: readonly z.infer<typeof storedRange>[],
  meanings: ReadonlyMap<string, string | null> = new Map(),
): MetricStatus[] {
  return metrics.map((metric) => {
    const stored = ranges.filter((range) => range.metric === metric);
    const [first] = stored;
    const spans: CellSpan[] = [];
    for (const { start, status } of periods) {
      const range = stored.find(
        ({ first_day: from, last_day: to }) => from <= start && start <= to,
      );
      const state = status.state === 'missing' ? 'missing' : (range?.state ?? 'not loaded');
      const open = spans.at(-1);
      if (open?.state === state) {
        spans.splice(-1, 1, { ...open, last_day: status.last_day, periods: open.periods + 1 });
      } else {
        spans.push({ state, first_day: status.first_day, last_day: status.last_day, periods: 1 });
      }
    }
    return {
      metric,
      kind: first?.kind ?? null,
      horizon_days: first?.horizon_days ?? null,
      horizon_from: first?.horizon_from ?? null,
      meaning: meanings.get(metric) ?? null,
      cells: summedCells([{ spans }]),
      spans,
    };
  });
}

export function summedCells(metrics: readonly Pick<MetricStatus, 'spans'>[]): SliceStatus['cells'] {
  const spans = metrics.flatMap((metric) => metric.spans);
  const cells = {
    final: 0,
    maturing: 0,
    open: 0,
    cut: 0,
    empty: 0,
    rejected: 0,
    'not loaded': 0,
    missing: 0,
  };
  for (const { state, periods } of spans) cells[state] += periods;
  return { expected: spans.reduce((sum, { periods }) => sum + periods, 0), ...cells };
}
