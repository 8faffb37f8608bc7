/**
 * Guards stored rows: an answer that would remove most rows of a settled period, or has none for one that is over, is not
 * accepted at once. Pure.
 */

import { Failure } from '../errors.ts';
import {
  addDays,
  type Day,
  daysBetween,
  isWithin,
  startOfDayAt,
  unionOf,
} from '../model/calendar.ts';
import { sumOf } from '../model/measure.ts';
import {
  endOf,
  isGuarded,
  isWhole,
  MIN_SHARE,
  type Period,
  SETTLED_AFTER_MS,
} from '../model/period.ts';
import type { Slice } from '../model/slice.ts';
import { type DuePeriod, labelOf, subjectOf, type Window, windowOf } from '../model/window.ts';
import { pageWarnings } from './answer-pages.ts';
import type {
  Again,
  Answered,
  Failed,
  NightTotals,
  Policy,
  Proven,
  Replacement,
  StoredPeriod,
} from './answered.ts';

/** Whether control totals state values of a period. Null if it was not read, or by an answer without any row. */
export function isStated(totals: NightTotals, start: Day): boolean | null {
  const values = totals.get(start);
  return values === undefined ? null : [...values.values()].some((value) => value !== 0);
}

interface Judging extends Omit<Policy, 'stated'> {
  /** Rows by first day of the period, and those of them that cannot be stored. */
  readonly answered: ReadonlyMap<Day, number>;
  readonly rejected?: ReadonlyMap<Day, number>;
  readonly fetchedAt: Date;
  readonly isConfirmation: boolean;
  readonly isProven: boolean;
}

/** `doubt`: request the period again. `refuse`: fail it. `keep`: a later fetch loaded it, or it stays as it is. */
type Fate = 'load' | 'unserved' | 'doubt' | 'refuse' | 'keep';

function fateOf({ period, reason }: DuePeriod, slice: Slice, facts: Judging): Fate {
  const { start } = period.bucket;
  const [rows, before] = [facts.answered.get(start) ?? 0, facts.stored.get(start)];
  if (before !== undefined && (before.fetchedAt > facts.fetchedAt || before.isKept)) return 'keep';
  if (facts.acceptLoss) return 'load';
  const stated = isStated(facts.totals, start);
  const storable = rows - (facts.rejected?.get(start) ?? 0);
  if (before !== undefined && storable < leastRows(period, slice, before, facts)) {
    if (!facts.isConfirmation) return 'doubt';
    // So old a period is served no more, where a metric was added.
    return rows === 0 && stated === false && reason === 'metric added' ? 'unserved' : 'refuse';
  }
  if (rows > 0) return 'load';
  if (facts.fetchedAt < endOf(period, slice.utcOffset)) {
    const hasRows = before !== undefined && before.rows > 0;
    if (!hasRows && stated !== true) return 'load';
    if (!facts.isConfirmation) return 'doubt';
    return hasRows && stated === true ? 'keep' : 'load';
  }
  // The totals of a period that the slice cuts may be of other days.
  if (stated === true && isWhole(period)) {
    if (!facts.isConfirmation) return 'doubt';
    // Loaded as empty once it was over, it stays due until it has rows, and fails no night.
    const isLoaded = before?.rows === 0 && before.fetchedAt >= endOf(period, slice.utcOffset);
    return isLoaded ? 'load' : 'refuse';
  }
  // If an earlier run or the control totals found the period empty, this answer confirms it.
  const isNewlyEmpty = stated !== false && (before === undefined || before.rows > 0);
  return isNewlyEmpty && !facts.isConfirmation ? 'doubt' : 'load';
}

/**
 * Returns the fewest rows that are accepted. The days of a period without a date dimension move: then only no row at all is
 * too few, and nothing is if most of the stored days are no longer requested.
 */
function leastRows(
  { bucket, requested }: Period,
  slice: Slice,
  before: StoredPeriod,
  { fetchedAt }: Judging,
) {
  const isShifted =
    slice.grain === null &&
    (before.bucket.start !== bucket.start || before.bucket.end !== bucket.end);
  const first = before.bucket.start > requested.start ? before.bucket.start : requested.start;
  const last = before.bucket.end < requested.end ? before.bucket.end : requested.end;
  const daysInCommon = Math.max(0, daysBetween(first, last));
  if (isShifted && daysInCommon < MIN_SHARE * daysBetween(before.bucket.start, before.bucket.end))
    return 0;
  if (!isGuarded({ bucket, requested }, fetchedAt, slice.utcOffset)) return 0;
  const isBucketSettled =
    +fetchedAt - +startOfDayAt(bucket.end, slice.utcOffset) > SETTLED_AFTER_MS;
  return isShifted || (slice.grain === null && !isBucketSettled)
    ? Math.min(before.rows, 1)
    : before.rows * MIN_SHARE;
}

export function sharesOf(
  window: Window,
  facts: Judging,
): { readonly fate: Fate; readonly window: Window }[] {
  const { slice, fingerprint, periods, parts, requested } = window;
  const isEmptied = ({ bucket: { start } }: Period) =>
    (facts.answered.get(start) ?? 0) === 0 && (facts.stored.get(start)?.rows ?? 0) > 0;
  const fates = periods.map((due): Fate => {
    const fate = fateOf(due, slice, facts);
    // A period between due ones needs nothing better than what is stored.
    const isWorse = fate !== 'load' || !facts.isProven || isEmptied(due.period);
    return due.reason === 'between' && isWorse ? 'keep' : fate;
  });
  const groups: { fate: Fate; periods: DuePeriod[] }[] = [];
  for (const [at, due] of periods.entries()) {
    const own = fates[at] ?? 'load';
    // Refused for one period, an answer may not empty another either.
    const isRefused =
      fates.includes('refuse') && own !== 'keep' && own !== 'unserved' && isEmptied(due.period);
    const fate = isRefused ? 'refuse' : own;
    const last = groups.at(-1);
    const isNext = last?.periods.at(-1)?.period.requested.end === due.period.requested.start;
    if (isNext && last?.fate === fate) last.periods.push(due);
    else groups.push({ fate, periods: [due] });
  }
  const [only] = groups;
  // The periods of an archived window that was loaded in part may not cover all of its days.
  const isUnbroken =
    groups.length === 1 &&
    only?.periods[0]?.period.requested.start === requested.start &&
    only.periods.at(-1)?.period.requested.end === requested.end;
  return groups.map((group) => {
    const share = isUnbroken ? window : windowOf(slice, fingerprint, group.periods, parts);
    return { fate: group.fate, window: share };
  });
}

export function guard(
  answered: Answered,
  proven: Proven,
  policy: Policy,
): (Replacement | Again | Failed)[] {
  const { spooled, fetchedAt, rejects } = answered;
  const { isConfirmation } = spooled;
  const { rows, rejected } = answeredRows(answered);
  const isProven = proven.verdict === 'proven';
  const judging = { ...policy, answered: rows, rejected, fetchedAt, isConfirmation, isProven };
  const outcomes: (Replacement | Again | Failed)[] = [];
  const again = (window: Window, failure: Failure): Again => {
    return { kind: 'again', window, spooled, failure, boxes: null, isConfirmation: true };
  };
  const holes: Again[] = [];
  // Only in the first share.
  let warnings = warningsOf(answered, proven);
  let recorded = rejects?.recorded ?? [];
  for (const { fate, window } of sharesOf(spooled.window, judging)) {
    if (fate === 'keep') continue;
    if (fate === 'load' || fate === 'unserved') {
      const without = window.periods.flatMap(({ period }) =>
        (rows.get(period.bucket.start) ?? 0) > 0 ? [] : [period],
      );
      const empty = unionOf(without.map((period) => period.requested)).map((requested) =>
        labelOf({ requested }),
      );
      const text = `The service had no rows for ${empty.join(', ')}`;
      if (fate === 'unserved') {
        const message = `${text}, where a metric was added; it is NULL there, and the stored rows are kept.`;
        warnings.push({ code: 'EMPTY_PERIODS', message });
      } else if (empty.length > 0) {
        const isRefuted = without.some(({ bucket }) => isStated(policy.totals, bucket.start));
        const end = isRefuted
          ? 'control totals state values, so that it stays due'
          : 'final once two runs agree';
        const message = `${text}; loaded as empty; ${end}.`;
        warnings.push({ code: 'EMPTY_PERIODS', message });
      }
      // Rows of unknown day count in every share.
      const days = (rejects?.days ?? []).filter(
        (day) => day === null || window === spooled.window || isWithin(day, window.replaced),
      );
      outcomes.push({
        ...proven,
        ...policy,
        kind: 'replace',
        answered,
        window,
        isUnserved: fate === 'unserved',
        empty: fate === 'unserved' ? [] : empty,
        warnings,
        rejects: { days, recorded },
      });
      [warnings, recorded] = [[], []];
      continue;
    }
    const starts = window.periods.map(({ period }) => period.bucket.start);
    const storable = starts.map((start) => (rows.get(start) ?? 0) - (rejected.get(start) ?? 0));
    const before = sumOf(starts.map((start) => policy.stored.get(start)?.rows ?? 0));
    let clause = `the service answered ${sumOf(storable)} rows where ${before} were loaded before`;
    if (before === 0)
      clause =
        fate === 'refuse'
          ? 'two answers had no rows, but control totals state values'
          : 'the answer had no rows';
    const { start, end } = window.requested;
    const failure = new Failure('DATA_SHRUNK', `${subjectOf(window)}: ${clause}.`, {
      hint: `If that is right, run \`ripen backfill --slice ${window.slice.name} --from ${start} --to ${addDays(end, -1)} --accept-loss\`.`,
    });
    if (fate === 'refuse') outcomes.push({ kind: 'failed', window, failure });
    else if (before === 0) holes.push(again(window, failure));
    else outcomes.push(again(window, failure));
  }
  const [first, ...others] = holes;
  if (first === undefined || others.length === 0) return [...outcomes, ...holes];
  // Holes are requested together. Of what lies between them the next answer confirms nothing.
  const doubted = new Set(holes.flatMap(({ window }) => window.periods));
  const { slice, fingerprint, parts, periods } = spooled.window;
  const span = periods
    .slice(
      periods.findIndex((due) => doubted.has(due)),
      periods.findLastIndex((due) => doubted.has(due)) + 1,
    )
    .map((due): DuePeriod => (doubted.has(due) ? due : { period: due.period, reason: 'between' }));
  return [...outcomes, again(windowOf(slice, fingerprint, span, parts), first.failure)];
}

/** Rejected rows are counted among the others. */
function answeredRows({ periodRows, periodValues, rejects, spooled }: Answered) {
  // A cube's period of zeros counts as one row: it is not empty.
  const rows = new Map(
    [...periodRows].map(([start, count]) => [
      start,
      Math.max(periodValues.get(start) ?? 0, Math.min(count, 1)),
    ]),
  );
  const rejected = new Map<Day, number>();
  for (const day of rejects?.days ?? []) {
    const due = spooled.window.periods.find(
      ({ period }) => day !== null && isWithin(day, period.bucket),
    );
    if (due === undefined) continue;
    const { start } = due.period.bucket;
    rows.set(start, (rows.get(start) ?? 0) + 1);
    rejected.set(start, (rejected.get(start) ?? 0) + 1);
  }
  return { rows, rejected };
}

function warningsOf({ spooled, answers, maturity, copies, rejects }: Answered, proven: Proven) {
  const warnings = [...pageWarnings(spooled.window, answers, maturity), ...proven.warnings];
  const surplus = Math.max(0, ...copies);
  const rejected = rejects?.days.length ?? 0;
  if (surplus > 0) {
    const message = `${surplus} identical rows came more than once; one of each was kept.`;
    warnings.push({ code: 'DUPLICATE_ROWS', message });
  }
  if (rejected > 0) {
    const message = `${rejected} rows could not be stored exactly; see ripen.rejected_rows.`;
    warnings.push({ code: 'REJECTED_ROWS', message });
  }
  for (const metric of new Set(proven.notAdditive)) {
    const message = `${metric} is not additive here: other metrics add up to the service's totals, it does not. It is no longer used as proof.`;
    warnings.push({ code: 'NOT_ADDITIVE', message });
  }
  return warnings;
}
