/**
 * Planning: (slice, ledger, clock) → the windows to ask for, each period with its reason. Pure.
 *
 * A slice is planned for the table that carries its meaning: the live one, or, when its meaning changed, the one that
 * is built beside it until it is complete. What is planned is the slice's whole coverage, also what a rolling date period
 * has left behind.
 */

import { daysBetween, type DayInterval, type WeekStart } from '../model/calendar.ts';
import { coveredPeriods } from '../model/coverage.ts';
import { fingerprintOf } from '../model/fingerprint.ts';
import {
  heldPeriods,
  tableOf,
  weekStartOf,
  type LoadedPeriod,
  type SliceLedger,
  type SliceTable,
} from '../model/ledger.ts';
import { dueReason, isDoubtfullyEmpty } from '../model/maturity.ts';
import type { Metric } from '../model/metric.ts';
import { periodsOf, type Period } from '../model/period.ts';
import type { Slice } from '../model/slice.ts';
import { windowOf, type DuePeriod, type DueReason, type Window } from '../model/window.ts';
import { windowDays } from './sizing.ts';

export interface SlicePlan {
  readonly slice: Slice;
  readonly fingerprint: string;
  readonly weekStartsOn: WeekStart;
  /** Every period of the coverage, due or not, in order. */
  readonly periods: readonly Period[];
  /** What the ledger knows of the table the windows will go to; null before its first load. */
  readonly table: SliceTable | null;
  /** Disjoint, in order of time; together exactly the due periods. */
  readonly windows: readonly Window[];
  /** Periods that are held from a fetch after the as-of instant, and so left as they are. */
  readonly heldNewer: number;
}

export interface PlanRequest {
  readonly slice: Slice;
  readonly metrics: readonly Metric[];
  readonly ledger: SliceLedger;
  readonly planAt: Date;
  /** Plans exactly the periods that touch these days, whatever their state. */
  readonly forced: DayInterval | null;
}

/** The windows a run asks for, for one slice. */
export function planSlice(request: PlanRequest): SlicePlan {
  const { slice, ledger, planAt, forced } = request;
  const meaning = fingerprintOf(slice);
  const table = tableOf(ledger, meaning);
  const fingerprint = table?.fingerprint ?? meaning;
  const weekStartsOn = weekStartOf(ledger, meaning);
  const held = heldPeriods(ledger, meaning);
  const periods = coveredPeriods(slice, held, planAt, weekStartsOn);
  const newer = held.filter(({ fetchedAt }) => fetchedAt > planAt);
  const wanted = forced === null ? periods : forcedPeriods(forced, periods, { slice, weekStartsOn, table });
  const due = wanted.flatMap((period): DuePeriod[] => {
    if (isHeldNewer(period, newer, slice)) return [];
    const reason = forced === null ? reasonFor(period, request, table) : 'forced';
    return reason === null ? [] : [{ period, reason }];
  });
  const windows = groupIntoWindows(due, windowDays(slice, table)).map((group) =>
    windowOf(slice, fingerprint, group, table?.parts ?? undefined),
  );
  return { slice, fingerprint, weekStartsOn, periods, table, windows, heldNewer: newer.length };
}

/** Whether a table holds the period, or with another grain a part of it, from a fetch after the as-of instant. */
function isHeldNewer({ bucket }: Period, newer: readonly LoadedPeriod[], { grain }: Slice): boolean {
  if (grain === null) return newer.length > 0;
  return newer.some((held) => held.bucket.start < bucket.end && bucket.start < held.bucket.end);
}

/**
 * The periods that touch the forced days, each at least as far as the coverage and the last load reach: a bucket is
 * replaced whole, so that asking for a few of its days would lose the others.
 */
function forcedPeriods(
  forced: DayInterval,
  periods: readonly Period[],
  { slice, weekStartsOn, table }: Pick<SlicePlan, 'slice' | 'weekStartsOn' | 'table'>,
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

/**
 * Whether a plan's table may take the live one's place: it holds every period of the coverage with every metric, nothing the
 * live table holds lies outside that, and what is empty although the live table has rows there was confirmed by a second run.
 */
export function isComplete({ slice, periods, table, heldNewer }: SlicePlan, live: SliceTable | null): boolean {
  const loaded = periods.map(({ bucket }) => table?.periods.get(bucket.start));
  const hasAll = loaded.every(
    (period) => period !== undefined && slice.metrics.every((metric) => period.metrics.includes(metric)),
  );
  if (!hasAll || heldNewer > 0 || live === null || live === table) return hasAll && heldNewer === 0;
  const losesRows = loaded.some(
    (period) => period !== undefined && isDoubtfullyEmpty(period) && hasRowsIn(live, period.asked),
  );
  return !losesRows;
}

function hasRowsIn(table: SliceTable, { start, end }: DayInterval): boolean {
  return [...table.periods.values()].some(({ rows, asked }) => rows > 0 && asked.start < end && start < asked.end);
}

function reasonFor(period: Period, request: PlanRequest, table: SliceTable | null): DueReason | null {
  const loaded = table?.periods.get(period.bucket.start);
  // The bucket of a slice without a date dimension is its date period, which may have grown since.
  if (loaded?.bucket.end === period.bucket.end) {
    return dueReason(period, loaded, request.metrics, request.slice, request.planAt);
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
  // From the newest on, so that the newest window is a full one: it is asked for first.
  for (const next of due.toReversed()) {
    const group = groups.at(-1);
    if (group !== undefined && fits(group, next, maxDays)) group.unshift(next);
    else groups.push([next]);
  }
  return groups.toReversed();
}

function fits(group: Group, before: DuePeriod, maxDays: number): boolean {
  const [first] = group;
  const last = group.at(-1) ?? first;
  return (
    before.period.asked.end === first.period.asked.start &&
    daysBetween(before.period.asked.start, last.period.asked.end) <= maxDays
  );
}
