/**
 * Guards stored rows: an answer that would remove most rows of a settled period, or has no rows for a period that is over, is
 * not accepted at once. Judges period by period, so that a bad day affects only itself. Pure.
 */

import { Failure } from '../errors.ts';
import {
  addDays,
  type Day,
  daysBetween,
  lastDay,
  MS_PER_DAY,
  startOfDayAt,
} from '../model/calendar.ts';
import type { PeriodRecord } from '../model/ledger.ts';
import { endOf, isWhole, type Period } from '../model/period.ts';
import type { Slice } from '../model/slice.ts';
import { type DuePeriod, subjectOf, type Window, windowOf } from '../model/window.ts';
import { isStated, type NightTotals } from './night-totals.ts';

/** Younger periods may lose rows to late rejections. */
const SETTLED_AFTER_MS = 7 * MS_PER_DAY;
/** A long period holds settled days before it is settled itself: one that began this long ago is guarded before its end. */
const HOLDS_SETTLED_AFTER_MS = 2 * SETTLED_AFTER_MS;
/** A guarded period keeps at least this share of its rows. */
const MIN_SHARE = 0.5;

export const isSettled = (
  period: Period,
  { utcOffset }: Pick<Slice, 'utcOffset'>,
  at: Date,
): boolean => at.getTime() - endOf(period, utcOffset).getTime() > SETTLED_AFTER_MS;

/** What is stored of a period; without a date dimension its days may differ from those requested now. */
export interface StoredPeriod extends Omit<PeriodRecord, 'metrics' | 'requestedAt'> {
  /** Whether it is final and has values of a lost app, which cannot be told from the others. */
  readonly isProtected?: boolean;
}

/** What the periods of a window are judged by. */
export interface Judging {
  /** Rows that came, and what is stored; both by first day of the period. */
  readonly answered: ReadonlyMap<Day, number>;
  readonly stored: ReadonlyMap<Day, StoredPeriod>;
  readonly fetchedAt: Date;
  readonly acceptLoss: boolean;
  /** Whether the answer confirms or refutes an earlier one that had too few rows. */
  readonly isConfirmation: boolean;
  readonly totals: NightTotals;
  /** Whether the rows were shown to be complete. */
  readonly isProven: boolean;
}

/** `doubt`: request the period again. `refuse`: fail it. `keep`: a later fetch loaded it, or it is protected. */
type Fate = 'load' | 'doubt' | 'refuse' | 'keep';

function fateOf(period: Period, slice: Slice, how: Judging): Fate {
  const { start } = period.bucket;
  const [rows, before] = [how.answered.get(start) ?? 0, how.stored.get(start)];
  const { isConfirmation } = how;
  const sinceEndMs = how.fetchedAt.getTime() - endOf(period, slice.utcOffset).getTime();
  if (before !== undefined && (before.fetchedAt > how.fetchedAt || before.isProtected))
    return 'keep';
  if (how.acceptLoss) return 'load';
  if (before !== undefined && rows < leastRows(period, slice, before, how))
    return isConfirmation ? 'refuse' : 'doubt';
  if (sinceEndMs < 0) return 'load';
  const isStatedThere = isStated(how.totals, start);
  // The totals of a period that the slice cuts may be of other days.
  if (rows === 0 && isStatedThere === true && isWhole(period))
    return isConfirmation ? 'refuse' : 'doubt';
  // If an earlier run or the control totals already found the period empty, this answer is the second one that confirms it.
  const isNewlyEmpty =
    rows === 0 && isStatedThere === null && (before === undefined || before.rows > 0);
  return isNewlyEmpty && !isConfirmation ? 'doubt' : 'load';
}

/**
 * Returns the fewest rows that are accepted. A report without a date dimension is one period, whose days move. If they moved or
 * are not settled, only an answer without rows is too few. If most of the stored days are no longer requested, none is.
 */
function leastRows(
  { bucket, requested }: Period,
  slice: Slice,
  before: StoredPeriod,
  { fetchedAt }: Judging,
): number {
  const isMoved =
    slice.grain === null &&
    (before.bucket.start !== bucket.start || before.bucket.end !== bucket.end);
  const first = before.bucket.start > requested.start ? before.bucket.start : requested.start;
  const last = before.bucket.end < requested.end ? before.bucket.end : requested.end;
  const daysInCommon = Math.max(0, daysBetween(first, last));
  if (isMoved && daysInCommon < MIN_SHARE * daysBetween(before.bucket.start, before.bucket.end))
    return 0;
  const sinceMs = (day: Day): number =>
    fetchedAt.getTime() - startOfDayAt(day, slice.utcOffset).getTime();
  const isSettled = sinceMs(bucket.end) > SETTLED_AFTER_MS;
  if (!isSettled && sinceMs(requested.start) <= HOLDS_SETTLED_AFTER_MS) return 0;
  return isMoved || (slice.grain === null && !isSettled)
    ? Math.min(before.rows, 1)
    : before.rows * MIN_SHARE;
}

/** Returns the runs of neighbouring periods of a window with one fate, as windows; the window itself if all have the same. */
export function sharesOf(
  window: Window,
  how: Judging,
): { readonly fate: Fate; readonly window: Window }[] {
  const fates = window.periods.map(({ period, reason }): Fate => {
    const fate = fateOf(period, window.slice, how);
    // A period that was only requested along needs nothing better than what is stored.
    return reason === 'between' && (fate !== 'load' || !how.isProven) ? 'keep' : fate;
  });
  const isRefused = fates.includes('refuse');
  const groups: { fate: Fate; periods: DuePeriod[] }[] = [];
  for (const [at, due] of window.periods.entries()) {
    const own = fates[at] ?? 'load';
    const { start } = due.period.bucket;
    const isEmptied =
      (how.answered.get(start) ?? 0) === 0 && (how.stored.get(start)?.rows ?? 0) > 0;
    // An answer that is refused for one period may not empty another one either.
    const fate = isRefused && own !== 'keep' && isEmptied ? 'refuse' : own;
    const last = groups.at(-1);
    const isNext = last?.periods.at(-1)?.period.requested.end === due.period.requested.start;
    if (isNext && last?.fate === fate) last.periods.push(due);
    else groups.push({ fate, periods: [due] });
  }
  return groups.map(({ fate, periods }) => ({
    fate,
    window:
      periods.length === window.periods.length && isUnbroken(window)
        ? window
        : windowOf(window.slice, window.fingerprint, periods, window.parts),
  }));
}

/** Whether a window's periods cover all of its days; those of an archived window that was loaded in part may not. */
function isUnbroken({ periods, requested }: Window): boolean {
  return (
    periods[0]?.period.requested.start === requested.start &&
    periods.every(
      ({ period }, at) =>
        period.requested.end === (periods[at + 1]?.period.requested.start ?? requested.end),
    )
  );
}

/** Why the periods of a share are doubted or refused, and how to accept the answer nevertheless. */
export function lossFailure(window: Window, { answered, stored }: Judging): Failure {
  const starts = window.periods.map(({ period }) => period.bucket.start);
  const rows = starts.reduce((sum, start) => sum + (answered.get(start) ?? 0), 0);
  const before = starts.reduce((sum, start) => sum + (stored.get(start)?.rows ?? 0), 0);
  const { start, end } = window.requested;
  const subject = subjectOf(window);
  const message =
    before === 0
      ? `${subject}: the answer had no rows.`
      : `${subject}: the service answered ${rows} rows where ${before} were loaded before.`;
  return new Failure('DATA_SHRUNK', message, {
    facts: { rows, before },
    hint: `If that is right, run \`ripen backfill --slice ${window.slice.name} --from ${start} --to ${addDays(end, -1)} --accept-loss\`.`,
  });
}

/** Returns the stretches of periods without rows as `first:last`, both inclusive. */
export function emptyStretches(window: Window, answered: ReadonlyMap<Day, number>): string[] {
  const stretches: { start: Day; end: Day }[] = [];
  for (const { period } of window.periods) {
    if ((answered.get(period.bucket.start) ?? 0) > 0) continue;
    const last = stretches.at(-1);
    if (last?.end === period.requested.start) last.end = period.requested.end;
    else stretches.push({ ...period.requested });
  }
  return stretches.map((days) => `${days.start}:${lastDay(days)}`);
}
