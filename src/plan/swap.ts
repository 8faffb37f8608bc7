/** Decides whether the table of a changed meaning may replace the live one. Pure. */

import { lastDay, meet, spanOf } from '../model/calendar.ts';
import { parseFilterKey } from '../model/dimension.ts';
import { type SliceLedger, storedPeriods, tableOf } from '../model/ledger.ts';
import { isDoubtfullyEmpty } from '../model/maturity.ts';
import { sumOf } from '../model/measure.ts';
import { coveredPeriods, isGuarded, MIN_SHARE } from '../model/period.ts';
import { fingerprintOf, headersIn, type Slice } from '../model/slice.ts';

type Parameters = Readonly<Record<string, string>>;

interface Swap {
  readonly slice: Slice;
  readonly ledger: SliceLedger;
  readonly planAt: Date;
  /** What the loads of the live table requested. If it is unknown, both tables are taken to have the same rows. */
  readonly requested?: readonly Parameters[];
}

/** Returns why a table may not replace the live one yet: what it lacks, has of a later fetch, or would lose. */
export function swapBlockedBy(
  { slice, ledger, planAt, requested = [] }: Swap,
  acceptLoss = false,
): string | null {
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
  const doubtful = loaded.filter((period) => {
    const isServed = served.some((old) => old.rows > 0 && meet(old.requested, period.requested));
    return period.rows === 0 && isServed && isDoubtfullyEmpty(period);
  });
  if (doubtful.length > 0)
    return `${doubtful.length} of ${periods.length} periods came without rows, which a later run must confirm`;
  const isSameSelection =
    headersIn(live.fingerprint) === headersIn(meaning) &&
    (requested.length === 0 ||
      requested.some((of) => selectionOf(of) === selectionOf(slice.parameters)));
  if (acceptLoss || !isSameSelection) return null;
  const hasSameKeys =
    (live.ages === undefined) === (slice.cube === undefined) &&
    requested.some(
      (of) => of['dimensions']?.split(',').sort().join() === slice.dimensions.toSorted().join(),
    );
  const lost = served.filter((old) => {
    // What `retain` no longer keeps is not loaded again.
    const news = loaded.filter((period) => meet(period.requested, old.requested));
    if (old.rows === 0 || news.length === 0) return false;
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
  const [first, ...others] = lost.map((old) => old.requested);
  if (first === undefined) return null;
  const { start, end } = spanOf(first, ...others);
  const days = `--from ${start} --to ${lastDay({ start, end })}`;
  return `${lost.length} of ${served.length} periods would lose most or all of their rows; if that is right, run \`ripen backfill --slice ${slice.name} ${days} --accept-loss\``;
}

/** Besides filters. Any other parameter changes values. */
const selecting = new Set(['os_names', 'reattributed', 'sandbox']);

function selectionOf(parameters: Parameters) {
  const selection = Object.entries(parameters).filter(
    ([name]) => selecting.has(name) || parseFilterKey(name) !== null,
  );
  return fingerprintOf({ dimensions: [], parameters: Object.fromEntries(selection), headers: {} });
}
