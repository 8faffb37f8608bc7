/** Decides whether the table of a changed meaning may replace the live one. Pure. */

import { type DayInterval, lastDay, meet, spanOf, unionOf } from '../model/calendar.ts';
import { parseFilterKey } from '../model/dimension.ts';
import { type PeriodRecord, type SliceLedger, storedPeriods, tableOf } from '../model/ledger.ts';
import { isDoubtfullyEmpty } from '../model/maturity.ts';
import { sumOf } from '../model/measure.ts';
import { coverageOf, coveredPeriods, isGuarded, MIN_SHARE } from '../model/period.ts';
import { fingerprintOf, headersIn, type Slice } from '../model/slice.ts';

type Parameters = Readonly<Record<string, string>>;

interface Swap {
  readonly slice: Slice;
  readonly ledger: SliceLedger;
  readonly planAt: Date;
  /** What the loads of the live table requested. If it is unknown, both tables are taken to have the same rows. */
  readonly requested?: readonly Parameters[];
  /** Days that may lose rows. */
  readonly accepted?: readonly DayInterval[];
}

/** Returns the periods of the live table that may lose no rows, without those that `retain` no longer keeps. */
export function guardedPeriods({ slice, ledger, planAt, accepted = [] }: Swap): PeriodRecord[] {
  const stored = storedPeriods(ledger, fingerprintOf(slice));
  const covered = coverageOf(slice, stored, planAt);
  const isAccepted = ({ start, end }: DayInterval) =>
    unionOf(accepted).some((days) => days.start <= start && end <= days.end);
  return [...(ledger.live?.periods.values() ?? [])].filter(({ requested: { start, end } }) => {
    if (covered === null || !meet({ start, end }, covered)) return false;
    const first = start > covered.start ? start : covered.start;
    return !isAccepted({ start: first, end: end < covered.end ? end : covered.end });
  });
}

/** Returns why a table may not replace the live one yet: what it lacks, has of a later fetch, or would lose. */
export function swapBlockedBy(swap: Swap): string | null {
  const { slice, ledger, planAt, requested = [] } = swap;
  const { live } = ledger;
  const meaning = fingerprintOf(slice);
  const table = tableOf(ledger, meaning);
  const periods = coveredPeriods(slice, storedPeriods(ledger, meaning), planAt);
  const served = [...(live?.periods.values() ?? [])];
  if (live !== null && served.length === 0) return null;
  const loaded = periods.flatMap(({ bucket }) => table?.periods.get(bucket.start) ?? []);
  const complete = loaded.filter((period) =>
    slice.metrics.every((metric) => period.metrics.includes(metric)),
  );
  const missing = periods.length - complete.length;
  if (missing > 0) return `${missing} of ${periods.length} periods are not loaded with all metrics`;
  // Only of the live table: this run's own fetches are later than the as-of instant too.
  const newer = served.filter(({ fetchedAt }) => fetchedAt > planAt).length;
  if (newer > 0) return `${newer} periods are served from a later fetch than the as-of instant`;
  if (live === null || live === table) return null;
  const guarded = guardedPeriods(swap).filter(({ rows }) => rows > 0);
  const doubtful = loaded.filter(
    (period) =>
      period.rows === 0 &&
      isDoubtfullyEmpty(period) &&
      guarded.some((old) => meet(old.requested, period.requested)),
  );
  if (doubtful.length > 0)
    return `${doubtful.length} of ${periods.length} periods came without rows, which a later run must confirm`;
  const isSameSelection =
    headersIn(live.fingerprint) === headersIn(meaning) &&
    (requested.length === 0 ||
      requested.some((of) => selectionOf(of) === selectionOf(slice.parameters)));
  if (!isSameSelection) return null;
  const hasSameKeys =
    (live.ages === undefined) === (slice.cube === undefined) &&
    requested.some(
      (of) => of['dimensions']?.split(',').sort().join() === slice.dimensions.toSorted().join(),
    );
  const lost = guarded.filter((old) => {
    const news = loaded.filter((period) => meet(period.requested, old.requested));
    const isComparable =
      hasSameKeys &&
      news.every(
        ({ bucket: { start, end } }) => start === old.bucket.start && end === old.bucket.end,
      ) &&
      // The rows of a cube are values, of some metrics.
      (slice.cube === undefined || old.metrics.every((metric) => slice.metrics.includes(metric))) &&
      isGuarded(old, planAt, slice.utcOffset);
    return sumOf(news.map(({ rows }) => rows)) < (isComparable ? old.rows * MIN_SHARE : 1);
  });
  if (lost.length === 0) return null;
  return `${lost.length} of ${served.length} periods would lose most or all of their rows; if that is right, ${acceptanceText(slice, lost)}`;
}

export function acceptanceText({ name }: Slice, periods: readonly PeriodRecord[]): string {
  const [first, ...others] = periods.map(({ requested }) => requested);
  if (first === undefined) throw new RangeError('A loss is of at least one period.');
  const { start, end } = spanOf(first, ...others);
  const days = `--from ${start} --to ${lastDay({ start, end })}`;
  return `run \`ripen backfill --slice ${name} ${days} --accept-loss\``;
}

/** Besides filters. Any other parameter changes values. */
const selecting = new Set([
  'attribution_source',
  'attribution_status',
  'attribution_type',
  'os_names',
  'reattributed',
  'sandbox',
]);

function selectionOf(parameters: Parameters) {
  const selection = Object.entries(parameters).filter(
    ([name]) => selecting.has(name) || parseFilterKey(name) !== null,
  );
  return fingerprintOf({ dimensions: [], parameters: Object.fromEntries(selection), headers: {} });
}
