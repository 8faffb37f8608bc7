/**
 * Planning: (slice, ledger, clock) → the windows to request. Pure. A slice is planned for the table of its meaning: the live
 * one, or the one that is built beside it.
 */

import { type DueReason, roomOf, type Window, windowOf } from '../model/window.ts';
import {
  addDays,
  type Day,
  dayAt,
  type DayInterval,
  daysBetween,
  isWithin,
  meet,
  MS_PER_DAY,
  spanOf,
} from '../model/calendar.ts';
import type { ControlEvidence } from '../model/control.ts';
import { coveredPeriods, firstKeptDay, type Period, periodsOf } from '../model/period.ts';
import { ageIn, metricsByAge } from '../model/cube.ts';
import { fingerprintOf, type Slice } from '../model/slice.ts';
import {
  rowsPerDay,
  storedAt,
  storedPeriods,
  knownSize,
  learnedParts,
  type SliceLedger,
  type SliceTable,
  tableOf,
} from '../model/ledger.ts';
import { dueReason } from '../model/maturity.ts';
import { sumOf } from '../model/measure.ts';
import type { Metric } from '../model/metric.ts';
import {
  coverOf,
  DEFAULT_COST,
  type DueAges,
  PRIORITY,
  type RequestCost,
  topReason,
} from './cover.ts';

interface PlanRequest {
  readonly slice: Slice;
  readonly metrics: readonly Metric[];
  readonly ledger: SliceLedger;
  readonly planAt: Date;
  /** The periods that touch these days, have begun and are kept, whatever their state (default: the due ones). */
  readonly forced?: DayInterval | null;
  readonly control?: ControlEvidence | undefined;
  /** The first days of periods that stay as they are. */
  readonly kept?: ReadonlySet<Day> | undefined;
  readonly cost?: RequestCost | undefined;
}

interface DueValues extends Pick<PlanRequest, 'slice' | 'metrics' | 'planAt' | 'cost'> {
  readonly fingerprint: string;
  readonly table: SliceTable | null;
  readonly due: readonly DueAges[];
}

export interface SlicePlan extends DueValues {
  readonly periods: readonly Period[];
  /** In order of time. No cell is in two. */
  readonly windows: readonly Window[];
  /** How many periods stay, as they are stored from a fetch after the as-of instant. */
  readonly storedNewer: number;
  /** How many periods with final totals that moved wait for a later night. */
  readonly waiting: number;
}

export function planSlice(request: PlanRequest): SlicePlan {
  const { slice, metrics, ledger, planAt, forced = null, control = null, kept, cost } = request;
  const meaning = fingerprintOf(slice);
  const table = tableOf(ledger, meaning);
  const fingerprint = table?.fingerprint ?? meaning;
  const stored = storedPeriods(ledger, meaning);
  const periods = coveredPeriods(slice, stored, planAt);
  const newer = stored.filter(({ fetchedAt }) => fetchedAt > planAt);
  const candidates =
    forced === null ? periods : forcedPeriods(forced, { slice, table, periods, planAt });
  const byAge = metricsByAge(slice, metrics);
  const moved = movedTotals(forced === null ? control : null, table, planAt);
  const agesOf = new Map<Period, Map<string, DueReason>>();
  for (const period of candidates) {
    // With another grain than the stored one, a period may hold a part of a newer one.
    if (newer.some(({ bucket }) => slice.grain === null || meet(bucket, period.bucket))) continue;
    const ages = new Map<string, DueReason>();
    agesOf.set(period, ages);
    if (forced === null && kept?.has(period.bucket.start) === true) continue;
    for (const [age, ofAge] of byAge) {
      const reason =
        forced === null ? reasonFor(period, age, ofAge, { ...request, table }) : 'forced';
      const isMoved = moved.get(period.bucket.start)?.get(age) === 'maturing';
      if (reason !== null || isMoved) ages.set(age, reason ?? 'moved');
    }
  }
  const waiting = addFinals(agesOf, moved, control, table);
  const due = [...agesOf].flatMap(([period, ages]): DueAges[] => {
    // A request along for fewer days than are stored would lose some.
    const storedDays = table?.periods.get(period.bucket.start)?.requested;
    const mayBeBetween =
      storedDays !== undefined &&
      period.requested.start <= storedDays.start &&
      storedDays.end <= period.requested.end;
    return ages.size > 0 || mayBeBetween ? [{ period, ages }] : [];
  });
  const divided = dividedAfterFailures(due, control, table);
  const planned = { slice, metrics, fingerprint, table, planAt, due: divided, cost };
  const windows = windowsOf(planned, windowDays(slice, table, planAt));
  return { ...planned, periods, windows, storedNewer: newer.length, waiting };
}

/** A final period is loaded again because of a restless metric once in so many days. */
const RESTLESS_DAYS = 7;

/** In the order in which they count, if several totals of an age of a period moved. */
const movements = ['maturing', 'final', 'restless'] as const;

/** By first day of the period, and age. */
type Moved = ReadonlyMap<Day, ReadonlyMap<string, (typeof movements)[number]>>;

/** Of a restless metric only final totals count, once a week. */
function movedTotals(control: ControlEvidence | null, table: SliceTable | null, planAt: Date) {
  const moved = new Map<Day, Map<string, (typeof movements)[number]>>();
  for (const { age, start, metric, isFinal } of control?.moved ?? []) {
    const isRestless = control?.restless.has(metric) === true;
    const fetchedAt = storedAt(table, age, start)?.fetchedAt ?? planAt;
    const isRested = planAt.getTime() - fetchedAt.getTime() >= RESTLESS_DAYS * MS_PER_DAY;
    if (isRestless && !(isFinal && isRested)) continue;
    const movement = isRestless ? 'restless' : isFinal ? 'final' : 'maturing';
    const ages = moved.get(start) ?? new Map<string, typeof movement>();
    const earlier = ages.get(age) ?? movement;
    ages.set(age, movements.find((each) => each === movement || each === earlier) ?? movement);
    moved.set(start, ages);
  }
  return moved;
}

function failuresSinceLoad(
  { bucket, requested }: Period,
  control: ControlEvidence | null,
  table: SliceTable | null,
): ControlEvidence['failed'] {
  const loadedMs = table?.periods.get(bucket.start)?.fetchedAt.getTime() ?? 0;
  return (control?.failed ?? []).filter(
    ({ first, last, at }) =>
      first <= requested.start && requested.start <= last && at.getTime() > loadedMs,
  );
}

/**
 * Adds periods whose final totals moved, at least one, with at most as many rows as the rest of the plan, of restless metrics
 * a seventh of that. The newest come first, those that failed since their load last. Returns how many are left.
 */
function addFinals(
  due: ReadonlyMap<Period, Map<string, DueReason>>,
  moved: Moved,
  control: ControlEvidence | null,
  table: SliceTable | null,
) {
  const perDay = rowsPerDay(table) ?? 0;
  const rowsOf = ({ bucket, requested }: Period, ages: Iterable<string>) => {
    const average = perDay * daysBetween(requested.start, requested.end);
    return sumOf([...ages].map((age) => storedAt(table, age, bucket.start)?.rows ?? average));
  };
  const rest = sumOf([...due].map(([period, ages]) => rowsOf(period, ages.keys())));
  const candidates = [...due].toReversed().flatMap(([period, ages]) => {
    const movedAges = moved.get(period.bucket.start);
    if (movedAges === undefined) return [];
    const failures = failuresSinceLoad(period, control, table);
    const failedMs = Math.max(0, ...failures.map(({ at }) => at.getTime()));
    return [{ period, ages, movedAges, failedMs }];
  });
  candidates.sort((one, other) => one.failedMs - other.failedMs);
  let waiting = 0;
  for (const [movement, allowed] of [
    ['final', rest],
    ['restless', rest / RESTLESS_DAYS],
  ] as const) {
    let rows = 0;
    for (const { period, ages, movedAges } of candidates) {
      const added = [...movedAges.keys()].filter(
        (age) => movedAges.get(age) === movement && !ages.has(age),
      );
      if (added.length === 0) continue;
      const more = rowsOf(period, added);
      if (rows > 0 && rows + more > allowed) waiting += movement === 'final' ? 1 : 0;
      else {
        rows += Math.max(more, 1);
        for (const age of added) ages.set(age, 'moved');
      }
    }
  }
  return waiting;
}

/** Divides what failed as one window in two, so that a period that fails for ever soon holds back no other. */
function dividedAfterFailures(
  due: readonly DueAges[],
  control: ControlEvidence | null,
  table: SliceTable | null,
): DueAges[] {
  const starts = new Set<Day>();
  const requested = due.filter(({ ages }) => ages.size > 0).map(({ period }) => period);
  for (const failure of control?.failed ?? []) {
    const failed = requested.flatMap((period, at) =>
      failuresSinceLoad(period, control, table).includes(failure) ? [at] : [],
    );
    const [first] = failed;
    if (first === undefined) continue;
    const middle = failed[Math.ceil(failed.length / 2)] ?? first;
    for (const at of [first, middle, (failed.at(-1) ?? first) + 1]) {
      const period = requested[at];
      if (period !== undefined) starts.add(period.requested.start);
    }
  }
  return due.map((each) => ({ ...each, isFirst: starts.has(each.period.requested.start) }));
}

/** The rows of a cube are values, several of which come in one row. */
const VALUES_PER_ROW = 10;

function windowsOf(values: DueValues, maxDays: number) {
  const { slice, metrics, fingerprint, table, planAt, due, cost = DEFAULT_COST } = values;
  const isCube = slice.cube !== undefined;
  const byAge = metricsByAge(slice, metrics);
  const perDay = (rowsPerDay(table) ?? 0) / byAge.size;
  const groups = coverOf(due, {
    metrics: new Map([...byAge].map(([age, ofAge]) => [age, ofAge.map(({ id }) => id)])),
    maxDays,
    maxBytes: isCube ? roomOf(slice) : Infinity,
    cost: isCube ? { ...cost, row: cost.row / VALUES_PER_ROW } : cost,
    rowsOf: ({ bucket, requested }, age) =>
      storedAt(table, age, bucket.start)?.rows ??
      perDay * daysBetween(requested.start, requested.end),
  });
  const parts = learnedParts(slice, table, planAt);
  return groups.map(({ periods, metrics: ids }) =>
    windowOf(isCube ? { ...slice, metrics: ids } : slice, fingerprint, periods, parts),
  );
}

/** Counts due periods by reason, those of a cube once, although several windows request them. */
export function periodsByReason(windows: readonly Window[]): Partial<Record<DueReason, number>> {
  const due = new Map<string, DueReason>();
  for (const { period, reason } of windows.flatMap(({ periods }) => periods)) {
    const { start } = period.bucket;
    due.set(start, topReason([due.get(start) ?? reason, reason]));
  }
  const counts: Partial<Record<DueReason, number>> = {};
  for (const reason of due.values()) counts[reason] = (counts[reason] ?? 0) + 1;
  return counts;
}

function forcedPeriods(
  forced: DayInterval,
  { slice, table, periods, planAt }: Pick<SlicePlan, 'slice' | 'table' | 'periods' | 'planAt'>,
) {
  const tomorrow = addDays(dayAt(planAt, slice.utcOffset), 1);
  const firstDay = firstKeptDay(slice, planAt) ?? forced.start;
  const days = {
    start: firstDay > forced.start ? firstDay : forced.start,
    end: tomorrow < forced.end ? tomorrow : forced.end,
  };
  if (days.start >= days.end) return [];
  if (slice.grain === null) return periods.filter(({ bucket }) => meet(bucket, days));
  return periodsOf(days, slice.grain, slice.weekStartsOn).map(({ bucket, requested }) => {
    // A bucket is replaced whole: fewer days than the coverage or the last load has would lose the others.
    const covered = periods.find((period) => period.bucket.start === bucket.start)?.requested;
    const loaded = table?.periods.get(bucket.start)?.requested;
    return { bucket, requested: spanOf(requested, covered ?? requested, loaded ?? requested) };
  });
}

function reasonFor(
  period: Period,
  age: string,
  metrics: readonly Metric[],
  { slice, ledger, planAt, table }: PlanRequest & Pick<SlicePlan, 'table'>,
): DueReason | null {
  const { start, end } = period.bucket;
  const loaded = storedAt(table, age, start);
  // Without a date dimension, the bucket is the date period, which may have grown since the load.
  if (loaded?.bucket.end === end) return dueReason(period, loaded, metrics, slice, planAt);
  if (loaded === undefined && table?.periods.has(start) === true) return 'metric added';
  if (ledger.live !== null && table?.state !== 'live') return 'meaning changed';
  // A gap, or the next one.
  return [...(table?.periods.keys() ?? [])].some((other) => other > start) ? 'missing' : 'new';
}

/** The priority of older history: new periods come first, then maturing ones. */
const HISTORY = 2;

/** Returns the windows of all plans by rank, then newest first. Of a first load, only the newest counts as new. */
export function byPriority(plans: readonly SlicePlan[]): Window[] {
  const ranked = plans.flatMap(({ windows, table }) => {
    const newestEnd = windows.at(-1)?.requested.end;
    return windows.map((window) => {
      const { end } = window.requested;
      let rank = Math.min(...window.periods.map(({ reason }) => PRIORITY[reason]));
      if ((table?.periods.size ?? 0) === 0) rank = end === newestEnd ? 0 : HISTORY;
      return { window, end, rank };
    });
  });
  return ranked
    .toSorted((a, b) => a.rank - b.rank || (a.end < b.end ? 1 : a.end > b.end ? -1 : 0))
    .map(({ window }) => window);
}

/** About 30 MB of rows of usual width: worth a request, and loaded in little memory. */
const ROWS_PER_WINDOW = 50_000;
const CELLS_PER_WINDOW = 2_000_000;
/** The failure of a longer request would cost too much. */
const MAX_DAYS = 366;

export function windowDays(slice: Slice, table: SliceTable | null, planAt: Date): number {
  const rows = rowsPerDay(table);
  // The rows of a cube are its cells.
  const mostRows =
    slice.cube === undefined
      ? Math.min(
          ROWS_PER_WINDOW,
          CELLS_PER_WINDOW / (slice.dimensions.length + slice.metrics.length),
        )
      : CELLS_PER_WINDOW;
  const firstDays = slice.grain === 'hour' ? 1 : 7;
  const days = rows === null ? firstDays : Math.floor(mostRows / rows);
  return Math.max(1, Math.min(days, knownSize(table, planAt)?.maxDays ?? MAX_DAYS, MAX_DAYS));
}

/** As large as `ROWS_PER_WINDOW` rows of usual width. */
const BYTES_PER_WINDOW = 30_000_000;
/** One answer says little about days that are further away. */
const MAX_JOINED_DAYS = 92;

/** Returns windows in place of waiting ones, newest first, as long as the bytes of a day allow. */
export function resized(plan: SlicePlan, waiting: readonly Window[], bytesADay: number): Window[] {
  const requests = waiting.map(({ slice, replaced }) => {
    return { replaced, ages: new Set(slice.metrics.map(ageIn(slice))) };
  });
  const due = plan.due.flatMap(({ period, ages }): DueAges[] => {
    const dueAges = [...ages].filter(([age]) =>
      requests.some((of) => of.ages.has(age) && isWithin(period.bucket.start, of.replaced)),
    );
    return ages.size > 0 && dueAges.length === 0 ? [] : [{ period, ages: new Map(dueAges) }];
  });
  const mostDays = knownSize(plan.table, plan.planAt)?.maxDays ?? MAX_JOINED_DAYS;
  const days = Math.max(1, Math.min(Math.floor(BYTES_PER_WINDOW / bytesADay), mostDays));
  return windowsOf({ ...plan, due }, days).toReversed();
}
