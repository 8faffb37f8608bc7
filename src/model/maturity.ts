/** Maturity: when a cell is final, and when a period is due. Pure: slice, ledger and clock come in as arguments. */

import { addDays, lastDay, MS_PER_DAY, startOfDayAt } from './calendar.ts';
import type { LoadedPeriod } from './ledger.ts';
import type { Metric } from './metric.ts';
import { ageOf, endOf, isWhole, type Period } from './period.ts';
import type { Slice } from './slice.ts';
import type { DueReason } from './window.ts';

/** Ages in days at which a maturing period is fetched again, before only finality counts. */
export const milestoneAges: readonly number[] = [1, 2, 3, 4, 5, 7, 10, 14];

export const periodStates = ['open', 'maturing', 'final'] as const;

export type PeriodState = (typeof periodStates)[number];

type Settling = Pick<Slice, 'utcOffset' | 'settleMs' | 'lifetimeMs' | 'refresh'>;

/** The instant from which a fetched value of a whole period is final; null for a value that never is. */
export function finalAt(period: Period, metric: Metric, slice: Settling): Date | null {
  if (metric.horizonMs === null) return null;
  return new Date(endOf(period, slice.utcOffset).getTime() + metric.horizonMs + slice.settleMs);
}

/** Whether a cell fetched at an instant is final. */
export function isFinal(period: Period, metric: Metric, slice: Settling, fetchedAt: Date): boolean {
  const at = finalAt(period, metric, slice);
  return at !== null && isWhole(period) && at <= fetchedAt;
}

/** The state of a period as fetched at an instant. */
export function stateOf(period: Period, metrics: readonly Metric[], slice: Settling, fetchedAt: Date): PeriodState {
  if (fetchedAt < endOf(period, slice.utcOffset)) return 'open';
  return metrics.every((metric) => isFinal(period, metric, slice, fetchedAt)) ? 'final' : 'maturing';
}

/** The instants at which a metric is worth one more look: when it becomes final, or when its lifetime is over. */
function settlingAt(period: Period, metric: Metric, slice: Settling): Date {
  const end = endOf(period, slice.utcOffset).getTime();
  return finalAt(period, metric, slice) ?? new Date(end + slice.lifetimeMs + slice.settleMs);
}

function ages(slice: Settling): readonly number[] {
  return typeof slice.refresh === 'string' ? milestoneAges : slice.refresh;
}

/** Whether the days asked for now are fewer than the loaded ones: a refetch would then lose some. */
function wouldLoseDays(period: Period, loaded: LoadedPeriod): boolean {
  return period.asked.start > loaded.asked.start || period.asked.end < loaded.asked.end;
}

function lacksDays(period: Period, loaded: LoadedPeriod): boolean {
  return period.asked.start < loaded.asked.start || period.asked.end > loaded.asked.end;
}

/** Why a period that was loaded before is due at an instant, or null when it is not. */
export function dueReason(
  period: Period,
  loaded: LoadedPeriod,
  metrics: readonly Metric[],
  slice: Settling,
  asOf: Date,
): DueReason | null {
  if (wouldLoseDays(period, loaded)) return null;
  if (metrics.some((metric) => !loaded.metrics.includes(metric.id))) return 'metric added';
  const { fetchedAt } = loaded;
  if (fetchedAt >= asOf) return null;
  if (fetchedAt < endOf(period, slice.utcOffset)) return 'open';
  if (lacksDays(period, loaded) || loaded.rejected > 0) return 'missing';
  const settling = metrics.map((metric) => ({ metric, at: settlingAt(period, metric, slice) }));
  if (settling.every(({ at }) => at <= fetchedAt)) return null;
  const settled = settling.filter(({ at }) => fetchedAt < at && at <= asOf);
  if (settled.some(({ metric }) => metric.horizonMs !== null)) return 'became final';
  if (settled.length > 0 || slice.refresh === 'nightly') return 'maturing';
  const [before, now] = [ageOf(period, fetchedAt, slice.utcOffset), ageOf(period, asOf, slice.utcOffset)];
  return ages(slice).some((age) => before < age && age <= now) ? 'maturing' : null;
}

/**
 * The instant from which something new can be expected after a fetch; null when nothing more is. Every run before that
 * refreshes open periods, and under `nightly` maturing ones, all the same.
 */
export function nextRefreshAt(
  period: Period,
  metrics: readonly Metric[],
  slice: Settling,
  fetchedAt: Date,
): Date | null {
  const endAt = endOf(period, slice.utcOffset);
  if (fetchedAt < endAt) return endAt;
  const settling = metrics.map((metric) => settlingAt(period, metric, slice)).filter((at) => at > fetchedAt);
  if (settling.length === 0) return null;
  if (slice.refresh === 'nightly') return new Date(fetchedAt.getTime() + MS_PER_DAY);
  const last = lastDay(period.bucket);
  const milestones = ages(slice)
    .map((age) => startOfDayAt(addDays(last, age), slice.utcOffset))
    .filter((at) => at > fetchedAt);
  return new Date(Math.min(...[...settling, ...milestones].map((at) => at.getTime())));
}
