/** What the ledger knows of a slice, as planning reads it. */

import * as z from 'zod';

import { alike } from './alike.ts';
import { type Day, day, daysBetween, MS_PER_DAY, spanOf } from './calendar.ts';
import { sumOf } from './measure.ts';
import type { Slice } from './slice.ts';
import { hasRoom, ownValues, type Part, valuesOf } from './window.ts';

/** `unverifiable` if no total adds up or all agree only within rounding. `unproven` if something speaks against it. */
export const verdicts = ['proven', 'unverifiable', 'unproven'] as const;

export type CompletenessVerdict = (typeof verdicts)[number];

/** Least settled first: not over when fetched, requested in part, empty and not confirmed, may still change, final. */
export const periodStates = ['open', 'cut', 'empty', 'maturing', 'final'] as const;

export type PeriodState = (typeof periodStates)[number];

const days = z.object({ start: z.string().transform(day), end: z.string().transform(day) });

/** The columns of `ripen.periods` but for the key of its table. One that older rows lack has a default. */
export const periodColumns = z.object({
  bucket: days,
  requested: days,
  /** Of the cohorts in a cube, otherwise empty. */
  age: z.string(),
  loadId: z.number(),
  fetchedAt: z.date(),
  rows: z.number(),
  rejected: z.number(),
  emptyRuns: z.number(),
  verdict: z.enum(verdicts),
  /** Null unless the answer was computed before it was requested. */
  computedAt: z.date().nullable(),
  immature: z.array(z.string()).nullable(),
  /** Metrics whose rows did not add up to the control totals of the night they were loaded. */
  differing: z.array(z.string()).nullable(),
  endsAt: z.date(),
  whole: z.boolean(),
  state: z.enum(periodStates),
  /** The instant that counts as the fetch for finality. Null if nothing of the period can be final. */
  trustedAt: z.date().nullable(),
  nextRefreshAt: z.date().nullable(),
});

/** With what planning reads of its load. */
export interface PeriodRecord extends Readonly<z.infer<typeof periodColumns>> {
  /** `fetchedAt` may be a stated as-of instant instead. */
  readonly requestedAt: Date;
  readonly metrics: readonly string[];
}

export type FetchedPeriod = Omit<
  PeriodRecord,
  'endsAt' | 'whole' | 'state' | 'trustedAt' | 'nextRefreshAt'
>;

export interface LearnedSize {
  readonly maxDays: number | null;
  readonly parts: readonly Part[] | null;
  readonly learnedAt: Date;
}

/** What is too heavy this week may be light in the next. If not, one request a week fails. */
const SIZE_KEPT_MS = 7 * MS_PER_DAY;

export const sizesKeptSince = (planAt: Date): Date => new Date(planAt.getTime() - SIZE_KEPT_MS);

export function knownSize(table: SliceTable | null, planAt: Date): LearnedSize | null {
  const { size = null } = table ?? {};
  return size !== null && size.learnedAt > sizesKeptSince(planAt) ? size : null;
}

/** Undefined if none were learned, one has no room for an added metric, or they lack values of the slice's own list. */
export function learnedParts(
  slice: Slice,
  table: SliceTable | null,
  planAt: Date,
): readonly Part[] | undefined {
  const parts = knownSize(table, planAt)?.parts ?? [];
  const isComplete = slice.dimensions.every((dimension) => {
    const lists = parts.map((part) => valuesOf(part, dimension).in);
    const values = new Set(lists.flatMap((list) => list ?? []));
    const filtered = ownValues(slice, dimension) ?? [];
    return lists.includes(null) || filtered.every((value) => values.has(value));
  });
  const isUsable = parts.length > 0 && isComplete && parts.every((part) => hasRoom(slice, part));
  return isUsable ? parts : undefined;
}

export interface SliceTable {
  readonly fingerprint: string;
  readonly state: 'live' | 'building';
  /** The name of its control totals. Tables with the same one select the same rows. */
  readonly control?: string | null;
  readonly size: LearnedSize | null;
  /** By first day of the bucket. For a cube: all its ages combined, by `periodsTogether`. */
  readonly periods: ReadonlyMap<Day, PeriodRecord>;
  /** Only of a cube. */
  readonly ages?: ReadonlyMap<string, ReadonlyMap<Day, PeriodRecord>>;
}

export const storedAt = (
  table: SliceTable | null,
  age: string,
  start: Day,
): PeriodRecord | undefined => (age === '' ? table?.periods : table?.ages?.get(age))?.get(start);

export function periodsTogether(ages: NonNullable<SliceTable['ages']>): Map<Day, PeriodRecord> {
  const records = [...ages.values()].flatMap((periods) => Array.from(periods.values()));
  const together = alike(records, ({ bucket }) => bucket.start).map(asOneLoad);
  const entries = together.map((period) => [period.bucket.start, period] as const);
  return new Map(entries.toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

/** Takes the latest fetch, which nothing older may replace, and the least settled state. */
function asOneLoad(ages: readonly [PeriodRecord, ...PeriodRecord[]]): PeriodRecord {
  const [first, ...others] = ages;
  const latest = ages.reduce((one, other) => (other.fetchedAt > one.fetchedAt ? other : one));
  const earliestOf = (instants: readonly (Date | null)[]) => {
    const milliseconds = instants.filter((at) => at !== null).map(Number);
    return milliseconds.length === 0 ? null : new Date(Math.min(...milliseconds));
  };
  const trusted = ages.map(({ trustedAt }) => trustedAt);
  const immature = ages.flatMap((record) => record.immature ?? []);
  return {
    ...latest,
    requested: spanOf(first.requested, ...others.map(({ requested }) => requested)),
    age: '',
    // The ages of one load share its list.
    metrics: [...new Set([...new Set(ages.map(({ metrics }) => metrics))].flat())],
    rows: sumOf(ages.map(({ rows }) => rows)),
    rejected: sumOf(ages.map(({ rejected }) => rejected)),
    emptyRuns: Math.max(...ages.map(({ emptyRuns }) => emptyRuns)),
    verdict:
      verdicts.findLast((verdict) => ages.some((age) => age.verdict === verdict)) ?? first.verdict,
    computedAt: earliestOf(ages.map(({ computedAt }) => computedAt)),
    immature: immature.length === 0 ? null : immature,
    differing: null,
    whole: ages.every(({ whole }) => whole),
    state: periodStates.find((state) => ages.some((age) => age.state === state)) ?? first.state,
    trustedAt: trusted.includes(null) ? null : earliestOf(trusted),
    nextRefreshAt: earliestOf(ages.map(({ nextRefreshAt }) => nextRefreshAt)),
  };
}

export interface SliceLedger {
  readonly live: SliceTable | null;
  readonly building: SliceTable | null;
}

export const tableOf = ({ live, building }: SliceLedger, fingerprint: string): SliceTable | null =>
  [building, live].find((table) => table?.fingerprint === fingerprint) ?? null;

/** With a fingerprint's own table, which ends up with all periods of the live one. */
export function storedPeriods(ledger: SliceLedger, fingerprint: string): PeriodRecord[] {
  const tables = new Set([ledger.live, tableOf(ledger, fingerprint)]);
  return [...tables].flatMap((table) => Array.from(table?.periods.values() ?? []));
}

export function rowsPerDay(table: SliceTable | null): number | null {
  let [rows, days] = [0, 0];
  for (const period of table?.periods.values() ?? []) {
    if (period.rows === 0) continue;
    rows += period.rows;
    days += daysBetween(period.requested.start, period.requested.end);
  }
  return days === 0 ? null : rows / days;
}
