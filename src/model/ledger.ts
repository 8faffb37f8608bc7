/** What the ledger knows of a slice, as planning reads it. */

import type { Part } from './window.ts';
import { type Day, type DayInterval, MS_PER_DAY, type WeekStart } from './calendar.ts';
import { DEFAULT_WEEK_START } from './period.ts';

/**
 * What is known of an answer's completeness: `proven` by the service's totals, `unverifiable` where it stated none that add
 * up or that come nearer to the rows than rounding allows, `unproven` where they disagreed and the slice loads all the same.
 */
export const verdicts = ['proven', 'unverifiable', 'unproven'] as const;

export type CompletenessVerdict = (typeof verdicts)[number];

/** What an answer says against the finality of its own cells. */
export interface Evidence {
  /** When it was computed, where that was before it was requested. */
  readonly computedAt: Date | null;
  /** Metrics that it calls immature. */
  readonly immature: readonly string[];
}

/** A period that was loaded at least once. */
export interface LoadedPeriod {
  readonly bucket: DayInterval;
  /** The days of it that were asked for. */
  readonly requested: DayInterval;
  readonly fetchedAt: Date;
  /** When it was asked for; `fetchedAt` may be an instant that stood for it. */
  readonly requestedAt: Date;
  readonly metrics: readonly string[];
  readonly rows: number;
  /** Rows the load had to leave out. */
  readonly rejected: number;
  /** Runs in a row whose answer had no rows for it; 0 while it has some. */
  readonly emptyRuns: number;
  readonly verdict: CompletenessVerdict;
  /** Absent where the answer said nothing of the kind. */
  readonly evidence?: Evidence;
}

/** What a request of a slice may ask for, learned from one that was too heavy. */
export interface LearnedSize {
  /** Most days; null while none were too many. */
  readonly maxDays: number | null;
  /** Parts that one period had to be divided into; null while none had to be. */
  readonly parts: readonly Part[] | null;
  /** The instant of the run that learned it. */
  readonly learnedAt: Date;
}

/** What was too heavy in one week may be light in the next; of what stays heavy, one request a week is in vain. */
const SIZE_KEPT_MS = 7 * MS_PER_DAY;

/** An instant before which what was learned by then counts no more. */
export const sizesKeptSince = (planAt: Date): Date => new Date(planAt.getTime() - SIZE_KEPT_MS);

/** The size a run is to request at first; null where nothing was learned in the last 7 days. */
export function knownSize(table: SliceTable | null, planAt: Date): LearnedSize | null {
  const size = table?.size ?? null;
  return size !== null && size.learnedAt > sizesKeptSince(planAt) ? size : null;
}

/** One table that holds a slice under one meaning. */
export interface SliceTable {
  readonly fingerprint: string;
  readonly state: 'live' | 'building';
  /** As learned from the service's labels; null before. */
  readonly weekStartsOn: WeekStart | null;
  readonly size: LearnedSize | null;
  /** By first day of the bucket; of a cube what is held of all its ages together, never more than of each. */
  readonly periods: ReadonlyMap<Day, LoadedPeriod>;
  /** Of a cube what is held of each age, by first day of the bucket; absent for any other slice. */
  readonly ages?: ReadonlyMap<string, ReadonlyMap<Day, LoadedPeriod>>;
}

/** What is held of a period under an age; of a slice that is no cube the age is empty. */
export function storedAt(table: SliceTable | null, age: string, start: Day): LoadedPeriod | undefined {
  return (age === '' ? table?.periods : table?.ages?.get(age))?.get(start);
}

/** What is held of each period under any age, by first day of the bucket, in order. */
export function periodsTogether(ages: NonNullable<SliceTable['ages']>): Map<Day, LoadedPeriod> {
  const byStart = new Map<Day, [LoadedPeriod, ...LoadedPeriod[]]>();
  for (const periods of ages.values()) {
    for (const [start, period] of periods) {
      const known = byStart.get(start);
      if (known === undefined) byStart.set(start, [period]);
      else known.push(period);
    }
  }
  const inOrder = [...byStart].toSorted(([one], [other]) => (one < other ? -1 : 1));
  return new Map(inOrder.map(([start, entries]) => [start, asOneLoad(entries)]));
}

/** What is held of one period under several ages, as one: the oldest fetch, and all rows and metrics. */
function asOneLoad(entries: readonly [LoadedPeriod, ...LoadedPeriod[]]): LoadedPeriod {
  const [first] = entries;
  const oldest = entries.reduce((least, each) => (each.fetchedAt < least.fetchedAt ? each : least), first);
  const sumOf = (count: (entry: LoadedPeriod) => number): number => entries.reduce((sum, each) => sum + count(each), 0);
  const worst = Math.max(...entries.map(({ verdict }) => verdicts.indexOf(verdict)));
  return {
    ...oldest,
    // The ages of one load have its list in common.
    metrics: [...new Set([...new Set(entries.map(({ metrics }) => metrics))].flat())],
    rows: sumOf(({ rows }) => rows),
    rejected: sumOf(({ rejected }) => rejected),
    emptyRuns: Math.max(...entries.map(({ emptyRuns }) => emptyRuns)),
    verdict: verdicts[worst] ?? oldest.verdict,
  };
}

export interface SliceLedger {
  readonly live: SliceTable | null;
  readonly building: SliceTable | null;
}

/** The table that holds a slice under a meaning; null where there is none yet. */
export function tableOf({ live, building }: SliceLedger, fingerprint: string): SliceTable | null {
  return [building, live].find((table) => table?.fingerprint === fingerprint) ?? null;
}

/** Every period a table holds that will be there once a meaning's own table is complete. */
export function storedPeriods(ledger: SliceLedger, fingerprint: string): LoadedPeriod[] {
  const own = tableOf(ledger, fingerprint);
  const tables = own === ledger.live ? [ledger.live] : [ledger.live, own];
  return tables.flatMap((table) => (table === null ? [] : Array.from(table.periods.values())));
}

/** The weekday a slice's weeks begin with, as far as its tables have taught. */
export function weekStartOf(ledger: SliceLedger, fingerprint: string): WeekStart {
  return (tableOf(ledger, fingerprint) ?? ledger.live)?.weekStartsOn ?? DEFAULT_WEEK_START;
}
