/** When a cell is final, and when a period is due. Pure. */

import { MS_PER_DAY } from './calendar.ts';
import type { FetchedPeriod, PeriodRecord, PeriodState } from './ledger.ts';
import type { Metric } from './metric.ts';
import { endOf, isWhole, type Period } from './period.ts';
import type { Slice } from './slice.ts';
import type { DueReason } from './window.ts';

/** In days. After the last, only finality counts. */
export const milestoneAges: readonly number[] = [1, 2, 3, 4, 5, 7, 10, 14];

type Settling = Pick<Slice, 'utcOffset' | 'settleMs' | 'lifetimeMs' | 'refresh'>;

export const RUNS_TO_BELIEVE_EMPTY = 2;

const finalMs = (endAt: Date, { horizonMs }: Metric, { settleMs }: Settling) =>
  horizonMs === null ? Infinity : endAt.getTime() + horizonMs + settleMs;

export const isDoubtfullyEmpty = ({ emptyRuns }: Pick<FetchedPeriod, 'emptyRuns'>): boolean =>
  emptyRuns > 0 && emptyRuns < RUNS_TO_BELIEVE_EMPTY;

export function recordOf(
  fetched: FetchedPeriod,
  metrics: readonly Metric[],
  slice: Settling,
): PeriodRecord {
  return {
    ...fetched,
    endsAt: endOf(fetched, slice.utcOffset),
    whole: isWhole(fetched),
    state: stateOf(fetched, metrics, slice),
    trustedAt: trustedAt(fetched),
    nextRefreshAt: nextRefreshAt(fetched, metrics, slice),
  };
}

function trustedAt(fetched: FetchedPeriod) {
  const isTrusted = isWhole(fetched) && isSound(fetched);
  return isTrusted ? computedAt(fetched.fetchedAt, fetched.computedAt) : null;
}

const isSound = (fetched: FetchedPeriod) =>
  fetched.rejected === 0 && fetched.verdict !== 'unproven' && !isDoubtfullyEmpty(fetched);

export const computedAt = (fetchedAt: Date, statedAt: Date | null): Date =>
  statedAt !== null && statedAt < fetchedAt ? statedAt : fetchedAt;

/** A metric that the load lacked is not stored. */
export function finalMetrics(
  fetched: FetchedPeriod,
  metrics: readonly Metric[],
  slice: Settling,
): Metric[] {
  const fetchedAt = trustedAt(fetched);
  if (fetchedAt === null) return [];
  const endAt = endOf(fetched, slice.utcOffset);
  return metrics.filter((metric) => {
    const at = finalMs(endAt, metric, slice);
    const isFinal = at <= fetchedAt.getTime() && !isCalledImmature(metric, fetched);
    return isFinal && fetched.metrics.includes(metric.id);
  });
}

const isCalledImmature = ({ id }: Metric, { immature }: FetchedPeriod) =>
  immature?.includes(id) === true;

export function stateOf(
  fetched: FetchedPeriod,
  metrics: readonly Metric[],
  slice: Settling,
): PeriodState {
  if (fetched.fetchedAt < endOf(fetched, slice.utcOffset)) return 'open';
  if (!isWhole(fetched)) return 'cut';
  if (isDoubtfullyEmpty(fetched)) return 'empty';
  return finalMetrics(fetched, metrics, slice).length === metrics.length ? 'final' : 'maturing';
}

/** For cells not final because of their answer: milestones after they would be, and the lifetime's end. */
function retriesMs(
  endAt: Date,
  metrics: readonly Metric[],
  slice: Settling,
  fetched: FetchedPeriod,
) {
  if (fetched.computedAt === null && fetched.immature === null) return [];
  const computedMs = computedAt(fetched.fetchedAt, fetched.computedAt).getTime();
  const late = metrics.flatMap((metric) => {
    const at = finalMs(endAt, metric, slice);
    const isDenied = computedMs < at || isCalledImmature(metric, fetched);
    return isDenied && at <= fetched.fetchedAt.getTime() ? [at] : [];
  });
  if (computedMs < endAt.getTime()) late.push(endAt.getTime());
  const milestones = late.flatMap((from) => milestoneAges.map((age) => from + age * MS_PER_DAY));
  return late.length === 0
    ? []
    : [...milestones, endAt.getTime() + slice.settleMs + slice.lifetimeMs];
}

/** A period that was fetched later is never due. */
export function dueReason(
  period: Period,
  loaded: FetchedPeriod,
  metrics: readonly Metric[],
  slice: Settling,
  planAt: Date,
): DueReason | null {
  const { fetchedAt, requested } = loaded;
  // A refetch of fewer days than were loaded would lose some.
  const hasDays =
    period.requested.start <= requested.start && period.requested.end >= requested.end;
  if (fetchedAt > planAt || !hasDays) return null;
  if (metrics.some((metric) => !loaded.metrics.includes(metric.id))) return 'metric added';
  if (fetchedAt >= planAt) return null;
  const endAt = endOf(period, slice.utcOffset);
  if (fetchedAt < endAt) return 'open';
  const lacksDays =
    period.requested.start < requested.start || period.requested.end > requested.end;
  if (lacksDays || loaded.rejected > 0) return 'missing';
  if (loaded.verdict === 'unproven') return 'unproven';
  if (isDoubtfullyEmpty(loaded)) return 'empty';
  const next = nextRefreshAt(loaded, metrics, slice);
  if (next === null) return null;
  const becameFinal = metrics.some((metric) => {
    const at = finalMs(endAt, metric, slice);
    return fetchedAt.getTime() < at && at <= planAt.getTime();
  });
  if (becameFinal) return 'became final';
  return next <= planAt || slice.refresh === 'nightly' ? 'maturing' : null;
}

/** From when new values are expected. Open and `nightly` maturing periods refresh earlier. */
export function nextRefreshAt(
  fetched: FetchedPeriod,
  metrics: readonly Metric[],
  slice: Settling,
): Date | null {
  const { fetchedAt } = fetched;
  const endAt = endOf(fetched, slice.utcOffset);
  if (fetchedAt < endAt) return endAt;
  const isIncomplete = metrics.some(({ id }) => !fetched.metrics.includes(id));
  if (isIncomplete || !isSound(fetched)) return fetchedAt;
  const [fetchedMs, endMs] = [fetchedAt.getTime(), endAt.getTime()];
  // As each metric becomes final, or its lifetime ends.
  const ends = metrics.map(
    ({ horizonMs }) => endMs + slice.settleMs + (horizonMs ?? slice.lifetimeMs),
  );
  const retries = retriesMs(endAt, metrics, slice, fetched);
  const settling = ends.concat(retries).filter((at) => at > fetchedMs);
  if (settling.length === 0) return null;
  if (slice.refresh === 'nightly') return new Date(fetchedMs + MS_PER_DAY);
  const ages = slice.refresh === 'milestones' ? milestoneAges : slice.refresh;
  // Ages count from the last day.
  const milestones = ages.map((age) => endMs + (age - 1) * MS_PER_DAY);
  return new Date(Math.min(...settling, ...milestones.filter((at) => at > fetchedMs)));
}
