/** The table a slice's rows go to, as every step of a load needs to know it. */

import type { Catalog } from '../model/catalog.ts';
import type { Metric } from '../model/metric.ts';
import type { Slice } from '../model/slice.ts';
import type { Columns } from './slice-columns.ts';

/** Where a slice's rows go, and in which shape. */
export interface Target {
  readonly slice: Slice;
  readonly fingerprint: string;
  readonly metrics: readonly Metric[];
  readonly state: 'live' | 'building';
  /** Quoted, with its schema. */
  readonly table: string;
  readonly columns: Columns;
  /** For what analysts read beside the numbers: at least what it says of the slice's metrics and dimensions. */
  readonly catalog: Catalog;
}
