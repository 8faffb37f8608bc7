/** What the ledger knows of a slice, as planning reads it. */

import type { Part } from './part.ts';
import type { Day, DayInterval, WeekStart } from './calendar.ts';

/** A period that was loaded at least once. */
export interface LoadedPeriod {
  readonly bucket: DayInterval;
  /** The days of it that were asked for. */
  readonly asked: DayInterval;
  readonly fetchedAt: Date;
  readonly metrics: readonly string[];
  readonly rows: number;
  /** Rows the load had to leave out. */
  readonly rejected: number;
}

/** One table that holds a slice under one meaning. */
export interface SliceTable {
  readonly fingerprint: string;
  readonly tableName: string;
  readonly state: 'live' | 'building';
  /** As learned from the service's labels; null before. */
  readonly weekStartsOn: WeekStart | null;
  /** Most days one request could ask for; null while none was too heavy. */
  readonly maxDays: number | null;
  /** Parts that a request had to be divided into; null while none was. */
  readonly parts: readonly Part[] | null;
  /** By first day of the bucket. */
  readonly periods: ReadonlyMap<Day, LoadedPeriod>;
}

export interface SliceLedger {
  readonly live: SliceTable | null;
  readonly building: SliceTable | null;
}

export const emptyLedger: SliceLedger = { live: null, building: null };
