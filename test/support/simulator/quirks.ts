/**
 * Quirks: how a world disagrees with what its caller expects. All are off by default; each is a way in which a service
 * of this kind answers, none of them a broken wire (those are faults).
 *
 * Where they act: names, NULL texts, weeks, emptied days and the catalog in `world.ts`; totals, caps, pages and whatever
 * else a document says of the rows in `quirky-report.ts`.
 */

import type { Day, WeekStart } from '../../../src/model/calendar.ts';
import type { MetricFilterName } from '../../../src/simulator/world/metric.ts';
import type { NextLink } from './next-link.ts';

/** What was asked of the report, for quirks that affect only some answers. */
export interface AskedReport {
  readonly query: URLSearchParams;
  readonly now: Date;
}

/** A metric the interface document does not know. */
export interface StrangeMetric {
  readonly id: string;
  readonly formatting: string;
  /** Whole numbers or money that add up, or a value whose total is not the sum of its rows. */
  readonly kind: 'count' | 'money' | 'calculated';
  /** The list filters-data has it on; null lists it nowhere. */
  readonly listed: MetricFilterName | null;
}

export interface PagesQuirk {
  readonly size: number;
  /**
   * What `pagination` looks like: the campaign API's v1 object with address and cursors, its v2 object with an address,
   * a bare cursor in `next`, or page numbers. The next page is asked for by `after`, or by `page`.
   */
  readonly style: 'v1' | 'v2' | 'cursor' | 'number';
  /** How the last page says so: `next` is null, missing or an empty text, or leads on to pages without rows for ever. */
  readonly last: 'null' | 'absent' | 'empty' | 'endless';
  /** Totals of the whole report on each page, or of the rows of the page. */
  readonly totals: 'whole' | 'page';
  /** Where `next` leads in place of the next page. */
  readonly misleads: NextLink | null;
}

/** A metric whose formatting filters-data states otherwise, at the instants `during` accepts. */
export interface CatalogChange {
  readonly during: (now: Date) => boolean;
  readonly id: string;
  readonly formatting: string;
}

export interface Quirks {
  /** Digits after the point that rows and totals are rounded to (null: as they are), and what the totals add up. */
  readonly rounding: {
    readonly rows: number | null;
    readonly totals: number | null;
    readonly totalsOf: 'exact values' | 'rounded rows';
  } | null;
  /** Totals that are left out, by metric, or written as text. */
  readonly totals: {
    readonly isMissing: (metric: string, asked: AskedReport) => boolean;
    readonly asText: boolean;
  } | null;
  /** At most so many rows an answer; the totals speak of all rows or of those that are left. */
  readonly cap: { readonly rows: number; readonly totals: 'all' | 'cut'; readonly warning: string | null } | null;
  readonly pages: PagesQuirk | null;
  /** Days without traffic at an instant, and how a report without any row is answered. */
  readonly emptied: {
    readonly isEmpty: (day: Day, now: Date) => boolean;
    readonly as: '204' | 'no rows' | 'no rows, no totals';
  } | null;
  /** Keys that nobody asked for, in every row. */
  readonly unasked: ReadonlyMap<string, unknown>;
  /** Answers 504 to a report of more rows. */
  readonly maxRows: number | null;
  /** By text dimension, the values that are NULL, which passes no filter as in SQL, and how a row states it. */
  readonly nulls: ReadonlyMap<string, { readonly values: readonly string[]; readonly as: 'null' | 'absent' }>;
  /** By name, the values of text dimensions the interface document does not know. */
  readonly dimensions: ReadonlyMap<string, readonly [string, ...string[]]>;
  readonly metrics: readonly StrangeMetric[];
  readonly catalog: readonly CatalogChange[];
  /** Within how many days counts settle, where that is not what the interface document lets expect. */
  readonly settlingDays: number | null;
  /** From an instant on weeks begin on another day. */
  readonly weeks: { readonly from: Date; readonly startOn: WeekStart } | null;
}

export const noQuirks: Quirks = {
  rounding: null,
  totals: null,
  cap: null,
  pages: null,
  emptied: null,
  unasked: new Map(),
  maxRows: null,
  nulls: new Map(),
  dimensions: new Map(),
  metrics: [],
  catalog: [],
  settlingDays: null,
  weeks: null,
};

/** Calculated metrics whose names do not say so, one of them in the format of money. */
export const calculatedMetrics: readonly StrangeMetric[] = [
  { id: 'revenue_to_cost', formatting: 'decimal', kind: 'calculated', listed: 'overview_metrics' },
  { id: 'worth_of_an_install', formatting: 'money', kind: 'calculated', listed: 'overview_metrics' },
];

/** Counts under names that are words of SQL, of JavaScript, or of tables a loader may have. */
export const oddlyNamedMetrics: readonly StrangeMetric[] = [
  'period',
  'row count',
  'constructor',
  '__proto__',
  '_odd',
  'window_no',
].map((id) => ({ id, formatting: 'integer', kind: 'count', listed: 'overview_metrics' }));

/** Text dimensions of newer services, one with spaces and quotes in its name. */
export const oddlyNamedDimensions: Quirks['dimensions'] = new Map([
  ['sdk_version', ['ios4.38.0', 'android5.0.1', '']],
  [`the "user's" plan`, ['free', 'paid; drop table x', "O'Neil"]],
]);

/** So many keys that nobody asked for, the first of them the empty text. */
export function unaskedKeys(count: number): Quirks['unasked'] {
  return new Map(Array.from({ length: count }, (_, nth) => [nth === 0 ? '' : `unasked_${nth}`, `value ${nth}`]));
}
