/** The finality of a slice, cell by cell: what the ledger holds, laid over the periods the slice is to have; pure. */

import { cellStates, type CellSpan, type CellState, type MetricStatus, type PeriodStatus } from './status-report.ts';

/** Neighbouring held periods in which a metric stands alike, as the ledger has them. */
export interface HeldStretch {
  readonly metric: string;
  readonly kind: string;
  readonly horizon_seconds: number | null;
  readonly state: CellState;
  /** Start days of the first and the last period. */
  readonly first_day: string;
  readonly last_day: string;
}

const SECONDS_PER_DAY = 86_400;

/**
 * Every metric's finality over every period, in configured order. `starts` are the start days of the calendar buckets
 * of `periods`, of the same length: a bucket that the date period cuts starts before its first day.
 */
export function metricStatuses(
  metrics: readonly string[],
  periods: readonly PeriodStatus[],
  starts: readonly string[],
  held: readonly HeldStretch[],
): MetricStatus[] {
  return metrics.map((metric) => {
    const stretches = held.filter((stretch) => stretch.metric === metric);
    const horizon = stretches.at(0)?.horizon_seconds ?? null;
    const states = periods.map((period, index) => cellState(period, starts[index] ?? period.first_day, stretches));
    return {
      metric,
      kind: stretches.at(0)?.kind ?? null,
      horizon_days: horizon === null ? null : horizon / SECONDS_PER_DAY,
      cells: countedCells(states),
      spans: spansOf(periods, states),
    };
  });
}

function cellState(period: PeriodStatus, start: string, stretches: readonly HeldStretch[]): CellState {
  if (period.state === 'missing') return 'missing';
  const stretch = stretches.find(({ first_day: first, last_day: last }) => first <= start && start <= last);
  return stretch?.state ?? 'not loaded';
}

/** How many of the cells stand how. */
export function countedCells(states: readonly CellState[]): Record<CellState, number> {
  const counts = { final: 0, maturing: 0, open: 0, cut: 0, empty: 0, rejected: 0, 'not loaded': 0, missing: 0 };
  for (const state of states) counts[state] += 1;
  return counts;
}

function spansOf(periods: readonly PeriodStatus[], states: readonly CellState[]): CellSpan[] {
  const spans: CellSpan[] = [];
  for (const [index, period] of periods.entries()) {
    const state = states[index] ?? 'missing';
    const { first_day: firstDay, last_day: lastDay } = period;
    const open = spans.at(-1);
    if (open?.state === state) {
      spans.splice(-1, 1, { ...open, last_day: lastDay, periods: open.periods + 1 });
    } else {
      spans.push({ state, first_day: firstDay, last_day: lastDay, periods: 1 });
    }
  }
  return spans;
}

/** The cells of several metrics together. */
export function summedCells(metrics: readonly MetricStatus[]): Record<CellState, number> & { expected: number } {
  const sum = { ...countedCells([]), expected: 0 };
  for (const { cells } of metrics) {
    for (const state of cellStates) {
      sum[state] += cells[state];
      sum.expected += cells[state];
    }
  }
  return sum;
}
