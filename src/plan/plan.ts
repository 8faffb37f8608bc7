/**
 * Planning: (slice, ledger, clock) → the windows to ask for, each period with its reason. Pure.
 *
 * A slice is planned for the table that carries its meaning: the live one, or, when its meaning changed, the one that
 * is built beside it until it is complete.
 */

import { daysBetween, type DayInterval, type WeekStart } from '../model/calendar.ts';
import { fingerprintOf } from '../model/fingerprint.ts';
import type { SliceLedger, SliceTable } from '../model/ledger.ts';
import type { Metric } from '../model/metric.ts';
import { periodsOf, resolveDatePeriod, type Period } from '../model/period.ts';
import type { Slice } from '../model/slice.ts';
import { windowOf, type DuePeriod, type DueReason, type Window } from '../model/window.ts';
import { dueReason } from '../model/maturity.ts';
import { windowDays } from './sizing.ts';

export interface SlicePlan {
  readonly slice: Slice;
  readonly fingerprint: string;
  readonly weekStartsOn: WeekStart;
  /** Every period of the date period, due or not, in order. */
  readonly periods: readonly Period[];
  /** What the ledger knows of the table the windows will go to; null before its first load. */
  readonly table: SliceTable | null;
  /** Disjoint, in order; together exactly the due periods. */
  readonly windows: readonly Window[];
}

export interface PlanRequest {
  readonly slice: Slice;
  readonly metrics: readonly Metric[];
  readonly ledger: SliceLedger;
  readonly asOf: Date;
  /** Plans exactly the periods that touch these days, whatever their state. */
  readonly forced: DayInterval | null;
}

/** Weeks begin on Monday until the service's labels say otherwise. */
const DEFAULT_WEEK_START: WeekStart = 1;

/** The windows a run asks for, for one slice. */
export function planSlice(request: PlanRequest): SlicePlan {
  const { slice, ledger, asOf } = request;
  const fingerprint = fingerprintOf(slice);
  const table = [ledger.live, ledger.building].find((known) => known?.fingerprint === fingerprint) ?? null;
  const weekStartsOn = (table ?? ledger.live)?.weekStartsOn ?? DEFAULT_WEEK_START;
  const interval = resolveDatePeriod(slice.datePeriod, asOf, slice.utcOffset);
  const periods = interval === null ? [] : periodsOf(interval, slice.grain, weekStartsOn);
  const due: readonly DuePeriod[] =
    request.forced === null
      ? periods.flatMap((period) => {
          const reason = reasonFor(period, request, table);
          return reason === null ? [] : [{ period, reason }];
        })
      : forcedPeriods(request.forced, periods, slice, weekStartsOn, table).map((period) => ({
          period,
          reason: 'forced',
        }));
  const windows = groupIntoWindows(due, windowDays(slice, table)).map((group) =>
    windowOf(slice, fingerprint, group, table?.parts ?? undefined),
  );
  return { slice, fingerprint, weekStartsOn, periods, table, windows };
}

/**
 * The periods that touch the forced days, each at least as far as the date period and the last load cover it: a bucket is
 * replaced whole, so that asking for a few of its days would lose the others.
 */
function forcedPeriods(
  forced: DayInterval,
  periods: readonly Period[],
  slice: Slice,
  weekStartsOn: WeekStart,
  table: SliceTable | null,
): Period[] {
  if (slice.grain === null)
    return periods.filter(({ bucket }) => bucket.start < forced.end && forced.start < bucket.end);
  return periodsOf(forced, slice.grain, weekStartsOn).map(({ bucket, asked }) => {
    const covered = [
      asked,
      periods.find((period) => period.bucket.start === bucket.start)?.asked ?? asked,
      table?.periods.get(bucket.start)?.asked ?? asked,
    ];
    const first = covered.reduce((least, { start }) => (start < least ? start : least), asked.start);
    const end = covered.reduce((most, each) => (each.end > most ? each.end : most), asked.end);
    return { bucket, asked: { start: first, end } };
  });
}

/** Whether every period of the date period is in the plan's table, with every metric. */
export function isComplete({ slice, periods, table }: SlicePlan): boolean {
  return periods.every(({ bucket }) => {
    const loaded = table?.periods.get(bucket.start);
    return loaded !== undefined && slice.metrics.every((metric) => loaded.metrics.includes(metric));
  });
}

function reasonFor(period: Period, request: PlanRequest, table: SliceTable | null): DueReason | null {
  const loaded = table?.periods.get(period.bucket.start);
  // The bucket of a slice without a date dimension is its date period, which may have grown since.
  if (loaded?.bucket.end === period.bucket.end) {
    return dueReason(period, loaded, request.metrics, request.slice, request.asOf);
  }
  if (request.ledger.live !== null && table?.state !== 'live') return 'meaning changed';
  return isBehindNewest(period, table) ? 'missing' : 'new';
}

/** Whether something later was loaded already, so that this period is a hole rather than the next one. */
function isBehindNewest(period: Period, table: SliceTable | null): boolean {
  return [...(table?.periods.keys() ?? [])].some((start) => start > period.bucket.start);
}

type Group = [DuePeriod, ...DuePeriod[]];

function groupIntoWindows(due: readonly DuePeriod[], maxDays: number): Group[] {
  const groups: Group[] = [];
  for (const next of due) {
    const group = groups.at(-1);
    if (group !== undefined && fits(group, next, maxDays)) group.push(next);
    else groups.push([next]);
  }
  return groups;
}

function fits(group: Group, next: DuePeriod, maxDays: number): boolean {
  const [first] = group;
  const last = group.at(-1) ?? first;
  return (
    last.period.asked.end === next.period.asked.start &&
    daysBetween(first.period.asked.start, next.period.asked.end) <= maxDays
  );
}
