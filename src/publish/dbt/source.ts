/** What dbt is told of a copy: which tables and columns it has, when it is fresh, what always holds. */

import type { DateDimension } from '../../model/dimension.ts';
import type { LakeColumn } from '../lake-table.ts';

/** A check of a column, or of an expression over the columns of a table. */
export type Rule =
  | { readonly kind: 'not_null'; readonly column: string }
  | { readonly kind: 'unique'; readonly column: string }
  | { readonly kind: 'unique_row'; readonly columns: readonly string[] }
  | { readonly kind: 'accepted_values'; readonly column: string; readonly values: readonly string[] }
  | {
      readonly kind: 'relationships';
      readonly column: string;
      /** Where every value is found again. */
      readonly source: string;
      readonly table: string;
      readonly field: string;
    };

export interface Freshness {
  /** A query whose one value is the instant, in UTC, that age is counted from. */
  readonly query: string;
  readonly warnAfterHours: number;
  readonly errorAfterHours: number;
}

export interface DbtTable {
  readonly name: string;
  readonly comment: string | null;
  readonly columns: readonly LakeColumn[];
  readonly rules: readonly Rule[];
  readonly freshness: Freshness | null;
}

export interface DbtSource {
  readonly name: string;
  readonly comment: string;
  readonly schema: string;
  readonly tables: readonly DbtTable[];
}

/** A slice as the copy holds it. */
export interface DbtSlice {
  readonly name: string;
  readonly columns: readonly LakeColumn[];
  /** The column that says the period; null without a date. */
  readonly grain: DateDimension | null;
  readonly metrics: readonly string[];
  /** Those of them that may be summed. */
  readonly additive: readonly string[];
  /** The source and the table that say which cells are final. */
  readonly finality: readonly [source: string, table: string];
}

/** A copy that dbt attaches as a database. */
export interface DbtCopy {
  /** The DuckDB file: the snapshot, or the catalog beside Delta tables. */
  readonly path: string;
  /** The name it is attached under. */
  readonly database: string;
  readonly sources: readonly DbtSource[];
  readonly slices: readonly DbtSlice[];
}
