/** Maturity: when a cell is final, and when a period is due. Pure: slice, ledger and clock come in as arguments. */

import { addDays, lastDay, MS_PER_DAY, startOfDayAt } from './calendar.ts';
import type { LoadedPeriod } from './ledger.ts';
import type { Metric } from './metric.ts';
import { ageOf, endOf, isWhole, type Period } from './period.ts';
import type { Slice } from './slice.ts';
import type { DueReason } from './window.ts';

/** Ages in days at which a maturing period is fetched again, before only finality counts. */
export const milestoneAges: readonly number[] = [1, 2, 3, 4, 5, 7, 10, 14];

/** How a loaded period stands: not over when fetched; some value may change; none can; requested in part; without rows, unconfirmed by a second run. */
export const periodStates = ['open', 'maturing', 'final', 'cut', 'empty'] as const;

export type PeriodState = (typeof periodStates)[number];

type Settling = Pick<Slice, 'utcOffset' | 'settleMs' | 'lifetimeMs' | 'refresh'>;

/** What finality asks of a load of a period. */
export type LoadFacts = Pick<LoadedPeriod, 'fetchedAt' | 'metrics' | 'rejected' | 'emptyRuns' | 'verdict' | 'evidence'>;

/** An empty answer is believed once so many runs in a row have met it. */
export const RUNS_TO_BELIEVE_EMPTY = 2;

/** The instant from which a fetched value of a whole period is final; null for a value that never is. */
export function finalAt(period: Period, metric: Metric, slice: Settling): Date | null {
  const at = finalMs(endOf(period, slice.utcOffset), metric, slice);
  return at === null ? null : new Date(at);
}

function finalMs(endAt: Date, { horizonMs }: Metric, { settleMs }: Settling): number | null {
  return horizonMs === null ? null : endAt.getTime() + horizonMs + settleMs;
}

/** Whether a period is held without rows and only one run has said so. */
export function isDoubtfullyEmpty({ emptyRuns }: Pick<LoadFacts, 'emptyRuns'>): boolean {
  return emptyRuns > 0 && emptyRuns < RUNS_TO_BELIEVE_EMPTY;
}

/** The instant that counts as a period's fetch in finality; null where nothing of what is held can be final. */
export function soundAt(period: Period, stored: Omit<LoadFacts, 'metrics'>): Date | null {
  const isSound =
    isWhole(period) && stored.rejected === 0 && stored.verdict !== 'unproven' && !isDoubtfullyEmpty(stored);
  return isSound ? computedAt(stored.fetchedAt, stored.evidence?.computedAt ?? null) : null;
}

/** When values were computed: when they were requested, or earlier where their answer says so. */
export function computedAt(fetchedAt: Date, statedAt: Date | null): Date {
  return statedAt !== null && statedAt < fetchedAt ? statedAt : fetchedAt;
}

/** Whether a cell is final as it is held. */
export function isFinal(period: Period, metric: Metric, slice: Settling, stored: LoadFacts): boolean {
  return finalMetrics(period, [metric], slice, stored).length > 0;
}

/** The metrics whose cells of a period are final as it is held; one that did not come with the load is not held at all. */
export function finalMetrics(period: Period, metrics: readonly Metric[], slice: Settling, stored: LoadFacts): Metric[] {
  const fetchedMs = soundAt(period, stored)?.getTime();
  if (fetchedMs === undefined) return [];
  const endAt = endOf(period, slice.utcOffset);
  return metrics.filter((metric) => {
    const at = finalMs(endAt, metric, slice);
    return at !== null && at <= fetchedMs && stored.metrics.includes(metric.id) && !isCalledImmature(metric, stored);
  });
}

const isCalledImmature = ({ id }: Metric, { evidence }: Pick<LoadFacts, 'evidence'>): boolean =>
  evidence?.immature.includes(id) === true;

/** How a period stands as it is held. */
export function stateOf(period: Period, metrics: readonly Metric[], slice: Settling, stored: LoadFacts): PeriodState {
  if (stored.fetchedAt < endOf(period, slice.utcOffset)) return 'open';
  if (!isWhole(period)) return 'cut';
  if (isDoubtfullyEmpty(stored)) return 'empty';
  return finalMetrics(period, metrics, slice, stored).length === metrics.length ? 'final' : 'maturing';
}

/** The instants, in milliseconds, worth one more look: when each metric becomes final, or its lifetime is over. */
function settlingMs(endAt: Date, metrics: readonly Metric[], slice: Settling): number[] {
  const end = endAt.getTime() + slice.settleMs;
  return metrics.map(({ horizonMs }) => end + (horizonMs ?? slice.lifetimeMs));
}

/** As `settlingMs`, for cells that their answer keeps from being final: at the milestones after they would have been, and at the end of their lifetime. */
function retriesMs(endAt: Date, metrics: readonly Metric[], slice: Settling, stored: LoadFacts): number[] {
  if (stored.evidence === undefined) return [];
  const computedMs = computedAt(stored.fetchedAt, stored.evidence.computedAt).getTime();
  const late = metrics.flatMap((metric) => {
    const at = finalMs(endAt, metric, slice);
    const isKept = at !== null && (computedMs < at || isCalledImmature(metric, stored));
    return isKept && at <= stored.fetchedAt.getTime() ? [at] : [];
  });
  if (computedMs < endAt.getTime()) late.push(endAt.getTime());
  const milestones = late.flatMap((from) => milestoneAges.map((age) => from + age * MS_PER_DAY));
  return late.length === 0 ? [] : [...milestones, endAt.getTime() + slice.settleMs + slice.lifetimeMs];
}

const agesOf = ({ refresh }: Settling): readonly number[] => (typeof refresh === 'string' ? milestoneAges : refresh);

/** Why a period that was loaded before is due at an instant, or null when it is not; nothing fetched later is. */
export function dueReason(
  period: Period,
  loaded: LoadedPeriod,
  metrics: readonly Metric[],
  slice: Settling,
  planAt: Date,
): DueReason | null {
  const { fetchedAt, requested } = loaded;
  // A refetch of fewer days than were loaded would lose some.
  const hasDays = period.requested.start <= requested.start && period.requested.end >= requested.end;
  if (fetchedAt > planAt || !hasDays) return null;
  if (metrics.some((metric) => !loaded.metrics.includes(metric.id))) return 'metric added';
  if (fetchedAt >= planAt) return null;
  const endAt = endOf(period, slice.utcOffset);
  if (fetchedAt < endAt) return 'open';
  const lacksDays = period.requested.start < requested.start || period.requested.end > requested.end;
  if (lacksDays || loaded.rejected > 0) return 'missing';
  if (loaded.verdict === 'unproven') return 'unproven';
  if (isDoubtfullyEmpty(loaded)) return 'empty';
  const [from, now] = [fetchedAt.getTime(), planAt.getTime()];
  const settling = settlingMs(endAt, metrics, slice);
  const retries = retriesMs(endAt, metrics, slice, loaded);
  if ([...settling, ...retries].every((at) => at <= from)) return null;
  const isSettled = (at: number): boolean => from < at && at <= now;
  if (settling.some((at, index) => isSettled(at) && metrics[index]?.horizonMs !== null)) return 'became final';
  if (settling.some(isSettled) || retries.some(isSettled) || slice.refresh === 'nightly') return 'maturing';
  const [before, age] = [ageOf(period, fetchedAt, slice.utcOffset), ageOf(period, planAt, slice.utcOffset)];
  return agesOf(slice).some((milestone) => before < milestone && milestone <= age) ? 'maturing' : null;
}

/** The instant from which something new can be expected; null when nothing more is. Open periods, and under `nightly` maturing ones, are refreshed before it too. */
export function nextRefreshAt(
  period: Period,
  metrics: readonly Metric[],
  slice: Settling,
  stored: LoadFacts,
): Date | null {
  const { fetchedAt } = stored;
  const endAt = endOf(period, slice.utcOffset);
  if (fetchedAt < endAt) return endAt;
  const isIncomplete = metrics.some(({ id }) => !stored.metrics.includes(id));
  if (isIncomplete || stored.rejected > 0 || stored.verdict === 'unproven' || isDoubtfullyEmpty(stored))
    return fetchedAt;
  const looks = [...settlingMs(endAt, metrics, slice), ...retriesMs(endAt, metrics, slice, stored)];
  const settling = looks.filter((at) => at > fetchedAt.getTime());
  if (settling.length === 0) return null;
  if (slice.refresh === 'nightly') return new Date(fetchedAt.getTime() + MS_PER_DAY);
  const last = lastDay(period.bucket);
  const milestones = agesOf(slice)
    .map((age) => startOfDayAt(addDays(last, age), slice.utcOffset))
    .filter((at) => at > fetchedAt);
  return new Date(Math.min(...settling, ...milestones.map((at) => at.getTime())));
}
