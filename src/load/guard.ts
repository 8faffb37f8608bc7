/**
 * The guard of stored rows: an answer that takes most of a settled period, or has nothing of one, is not believed at once.
 * Judged period by period, so that one bad day costs itself alone. Pure.
 */

import { Failure } from '../errors.ts';
import { addDays, type Day, daysBetween, lastDay, MS_PER_DAY, startOfDayAt } from '../model/calendar.ts';
import type { LoadedPeriod } from '../model/ledger.ts';
import { endOf, type Period } from '../model/period.ts';
import { type DuePeriod, type Window, windowOf } from '../model/window.ts';

/** Younger periods may lose rows to late rejections. */
const SETTLED_AFTER_MS = 7 * MS_PER_DAY;
/** A longer period holds settled days before it is settled itself; one that begins so early is guarded though it is not over. */
const HOLDS_SETTLED_AFTER_MS = 2 * SETTLED_AFTER_MS;
/** A guarded period keeps at least this share of its rows. */
const LEAST_SHARE = 0.5;

/** What is stored of a period; the days of a report without a date dimension may be others than those requested now. */
type PeriodBefore = Pick<LoadedPeriod, 'bucket' | 'rows' | 'fetchedAt'>;

/** Rows of the answer and what is stored, by first day of the period. */
export interface Counts {
  readonly answered: ReadonlyMap<Day, number>;
  readonly known: ReadonlyMap<Day, PeriodBefore>;
}

export interface Judging {
  /** Stands for the fetch in every decision. */
  readonly fetchedAt: Date;
  /** Believes every answer. */
  readonly acceptLoss: boolean;
  /** Whether this is the second answer. */
  readonly isRepeated: boolean;
}

/**
 * Load it; request it once more, in a call of its own; refuse it, and keep what is stored; or keep that because a later fetch
 * brought it, which only an archived answer meets.
 */
export type Fate = 'load' | 'doubt' | 'refuse' | 'newer';

function fateOf(period: Period, window: Window, { answered, known }: Counts, how: Judging): Fate {
  const [rows, before] = [answered.get(period.bucket.start) ?? 0, known.get(period.bucket.start)];
  const { isRepeated } = how;
  const sinceEndMs = how.fetchedAt.getTime() - endOf(period, window.slice.utcOffset).getTime();
  if (before !== undefined && before.fetchedAt > how.fetchedAt) return 'newer';
  if (how.acceptLoss) return 'load';
  if (before !== undefined && rows < leastRows(period, window, before, how)) return isRepeated ? 'refuse' : 'doubt';
  if (sinceEndMs < 0) return 'load';
  // What an earlier run found empty is confirmed by this answer, in a call that is another one already.
  const isNewlyEmpty = rows === 0 && (before === undefined || before.rows > 0);
  return isNewlyEmpty && !isRepeated ? 'doubt' : 'load';
}

/**
 * The fewest rows that are believed if so many are stored; 0 for a young period. A report without a date dimension is one
 * period of days that move with the runs and the configuration, so that only an answer without rows speaks against it, and none
 * where most of the days that are stored were left behind: the rows may have been theirs.
 */
function leastRows(
  { bucket, requested }: Period,
  { slice }: Window,
  before: PeriodBefore,
  { fetchedAt }: Judging,
): number {
  const isMoved = slice.grain === null && (before.bucket.start !== bucket.start || before.bucket.end !== bucket.end);
  const [first, last] = [later(before.bucket.start, requested.start), sooner(before.bucket.end, requested.end)];
  const daysInCommon = Math.max(0, daysBetween(first, last));
  if (isMoved && daysInCommon < LEAST_SHARE * daysBetween(before.bucket.start, before.bucket.end)) return 0;
  const sinceMs = (day: Day): number => fetchedAt.getTime() - startOfDayAt(day, slice.utcOffset).getTime();
  const isSettled = sinceMs(bucket.end) > SETTLED_AFTER_MS;
  if (!isSettled && sinceMs(requested.start) <= HOLDS_SETTLED_AFTER_MS) return 0;
  return isMoved || (slice.grain === null && !isSettled) ? Math.min(before.rows, 1) : before.rows * LEAST_SHARE;
}

const later = (one: Day, other: Day): Day => (one > other ? one : other);
const sooner = (one: Day, other: Day): Day => (one < other ? one : other);

function losesAll({ bucket }: Period, { answered, known }: Counts): boolean {
  return (answered.get(bucket.start) ?? 0) === 0 && (known.get(bucket.start)?.rows ?? 0) > 0;
}

/** A run of neighbouring periods of a window with one fate, as a window of its own. */
export interface Share {
  readonly fate: Fate;
  readonly window: Window;
}

/** A window's periods by their fate, in order; a window whose periods share one fate comes whole. */
export function sharesOf(window: Window, counts: Counts, how: Judging): Share[] {
  const fates = window.periods.map(({ period }) => fateOf(period, window, counts, how));
  const isRefused = fates.includes('refuse');
  const groups: { fate: Fate; periods: DuePeriod[] }[] = [];
  for (const [at, due] of window.periods.entries()) {
    // An answer that is not believed of a settled period does not empty its young neighbours either.
    const own = fates[at] ?? 'load';
    const fate = isRefused && own !== 'newer' && losesAll(due.period, counts) ? 'refuse' : own;
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

/** Whether a window's periods are all of its days; of an archived one that was loaded in part they may not be. */
function isUnbroken({ periods, requested }: Window): boolean {
  return (
    periods[0]?.period.requested.start === requested.start &&
    periods.every(
      ({ period }, at) => period.requested.end === (periods[at + 1]?.period.requested.start ?? requested.end),
    )
  );
}

/** Why the periods of a share are doubted or refused, and how to accept the answer all the same. */
export function lossFailure({ window }: Share, { answered, known }: Counts, subject: string): Failure {
  const starts = window.periods.map(({ period }) => period.bucket.start);
  const rows = starts.reduce((sum, start) => sum + (answered.get(start) ?? 0), 0);
  const before = starts.reduce((sum, start) => sum + (known.get(start)?.rows ?? 0), 0);
  const { start, end } = window.requested;
  const message =
    before === 0
      ? `${subject}: the service answered without rows.`
      : `${subject}: the service answered ${rows} rows where ${before} were loaded before.`;
  return new Failure('DATA_SHRUNK', message, {
    facts: { rows, before },
    hint: `If that is right, run \`ripen backfill --slice ${window.slice.name} --from ${start} --to ${addDays(end, -1)} --accept-loss\`.`,
  });
}

/** Stretches of a window's periods that are stored without rows, as `first:last`, both inclusive. */
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
